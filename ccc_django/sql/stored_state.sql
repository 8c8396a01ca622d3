-- stored_state: what a partition has come to, and up to which position.
SELECT state::text, position
FROM ccc_projection_states
WHERE projection = (SELECT %(projection)s::text) AND version = (SELECT %(version)s::int)
  AND partition_id = (SELECT %(partition)s::uuid)
