-- move_session: everything up to a position is done, or passed over by a seek; whoever has lost the session changes nothing.
-- A commit never moves back. The group's row is locked first, as everywhere.
WITH known AS MATERIALIZED (
    SELECT id FROM ccc_consumer_groups
    WHERE id = (SELECT %(group)s::bigint) AND epoch = (SELECT %(epoch)s::int)
    FOR NO KEY UPDATE
), moved AS (
    UPDATE ccc_offsets AS place SET
        last_position = CASE
            WHEN (SELECT %(is_seek)s::boolean) THEN (SELECT %(position)s::bigint)
            ELSE greatest(place.last_position, (SELECT %(position)s::bigint))
        END,
        replay_until = CASE
            WHEN (SELECT %(is_seek)s::boolean) OR place.last_position >= (SELECT %(position)s::bigint) THEN place.replay_until
            ELSE (SELECT %(position)s::bigint)
        END,
        next_position = NULL
    FROM known
    WHERE place.id = (SELECT %(id)s::bigint) AND place.group_id = known.id AND place.token = (SELECT %(token)s::bigint)
    RETURNING place.group_id, place.last_position
)
UPDATE ccc_consumer_groups AS known SET watermark = moved.last_position
FROM moved
WHERE known.id = moved.group_id
RETURNING moved.last_position
