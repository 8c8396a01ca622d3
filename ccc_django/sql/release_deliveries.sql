-- release_deliveries: messages of a shared claim are given back, at once or after a pause.
-- include: held_deliveries
UPDATE ccc_deliveries AS freed SET
    blocked_until = CASE WHEN (SELECT %(paused)s::boolean)
        THEN statement_timestamp() + (SELECT %(pause)s::float8) * interval '1 second'
    END,
    attempts = (SELECT %(attempts)s::int),
    error = CASE WHEN (SELECT %(error)s::text) = '' THEN freed.error ELSE (SELECT %(error)s::text) END,
    claimed_by = '', claimed_at = NULL, token = 0
FROM held
WHERE freed.group_topic_id = held.group_topic_id AND freed.position = held.position
  AND (SELECT count(*) FROM held) = cardinality((SELECT %(positions)s::bigint[]))
RETURNING freed.position
