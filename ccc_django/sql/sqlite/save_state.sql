-- save_state: keep what a partition has come to, up to a position.
INSERT INTO ccc_projection_states (projection, version, partition_id, partition_key, state, position)
VALUES (%(projection)s, %(version)s, unhex(%(partition)s), %(key)s, %(state)s, %(position)s)
ON CONFLICT (projection, version, partition_id) DO UPDATE SET
    state = excluded.state,
    position = excluded.position,
    updated_at = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')
