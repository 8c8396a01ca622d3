-- shared_status: where shared groups stand, some or all of them, read in one statement, so that their figures belong together.
-- What waits is counted to a limit. A topic in which nothing waits does not hold its group back.
SELECT
    known.name, known.kind,
    CASE WHEN known.retry_at <= statement_timestamp() THEN 'active' ELSE known.status END,
    known.error_context, work.watermark, work.lowest, 0 AS partitions, work.pending, work.claims, work.failures,
    (SELECT count(*) FROM ccc_dead_letters AS letter WHERE letter.group_id = known.id AND letter.status = 'open'),
    (
        SELECT extract(epoch FROM statement_timestamp() - message.appended_at)::float8
        FROM ccc_messages AS message
        WHERE message.position = work.lowest
    )
FROM ccc_consumer_groups AS known
CROSS JOIN LATERAL (
    SELECT
        (SELECT %(head)s::bigint) AS watermark,
        least(min(delivered.position), min(coming.position)) AS lowest,
        least(coalesce(sum(delivered.pending), 0) + coalesce(sum(coming.pending), 0), (SELECT %(most)s::int))::int AS pending,
        coalesce(sum(blocked.claims), 0)::int AS claims,
        coalesce(sum(blocked.failures), 0)::int AS failures
    FROM ccc_group_topics AS place
    JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
    CROSS JOIN LATERAL (
        SELECT count(*) AS pending, min(position) AS position FROM (
            SELECT position FROM ccc_deliveries
            WHERE group_topic_id = place.id
            ORDER BY position  -- of an index: otherwise the planner may walk over other groups' deliveries
            LIMIT (SELECT %(most)s::int)
        ) AS few
    ) AS delivered
    CROSS JOIN LATERAL (
        SELECT count(*) AS pending, min(position) AS position FROM (
            SELECT position FROM ccc_messages
            WHERE (topic, position) > (place.topic, place.watermark)
              AND (topic, position) <= (place.topic, (SELECT %(head)s::bigint))  -- topic = … would read it from its beginning
              AND position > place.watermark AND position <= (SELECT %(head)s::bigint)  -- so that few are expected
            ORDER BY topic, position
            LIMIT (SELECT %(most)s::int)
        ) AS few
    ) AS coming
    CROSS JOIN LATERAL (
        SELECT
            count(*) FILTER (WHERE claimed_by <> '' AND blocked_until > statement_timestamp()) AS claims,
            count(*) FILTER (WHERE error <> '') AS failures
        FROM (
            SELECT claimed_by, blocked_until, error FROM ccc_deliveries
            WHERE group_topic_id = place.id AND blocked_until IS NOT NULL
            ORDER BY blocked_until
            LIMIT (SELECT %(most)s::int)
        ) AS few
    ) AS blocked
    WHERE place.group_id = known.id AND subscription.status IN ('ACTIVE', 'PAUSED')
) AS work
WHERE known.kind = 'shared' AND ((SELECT %(every)s::boolean) OR known.name = ANY ((SELECT %(names)s)::text[]))
ORDER BY known.name
