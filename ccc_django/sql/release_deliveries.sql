-- release_deliveries: messages of a shared claim are given back, at once or after a pause.
WITH held AS MATERIALIZED (
    SELECT known.group_topic_id, known.position
    FROM unnest((SELECT %(places)s::bigint[]), (SELECT %(positions)s::bigint[])) AS wanted(place, position)
    CROSS JOIN LATERAL (
        SELECT group_topic_id, position FROM ccc_deliveries
        WHERE group_topic_id = wanted.place AND ccc_deliveries.position = wanted.position
          AND token = (SELECT %(token)s::bigint)
        FOR UPDATE
    ) AS known
    WHERE (SELECT %(epoch)s::int) = (SELECT epoch FROM ccc_consumer_groups WHERE id = (SELECT %(group)s::bigint))
)
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
