-- stored_state: what a partition has come to, and up to which position.
SELECT state, position
FROM ccc_projection_states
WHERE projection = %(projection)s AND version = %(version)s AND partition_id = unhex(%(partition)s)
