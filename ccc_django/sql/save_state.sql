-- save_state: keep what a partition has come to, up to a position.
INSERT INTO ccc_projection_states (projection, version, partition_id, partition_key, state, position)
VALUES (
    (SELECT %(projection)s::text), (SELECT %(version)s::int), (SELECT %(partition)s::uuid), (SELECT %(key)s::text),
    (SELECT %(state)s::jsonb), (SELECT %(position)s::bigint)
)
ON CONFLICT (projection, version, partition_id) DO UPDATE SET
    state = excluded.state,
    position = excluded.position,
    updated_at = statement_timestamp()
