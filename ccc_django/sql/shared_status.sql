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
        least(coalesce(sum(open.pending), 0) + coalesce(sum(coming.pending), 0), (SELECT %(most)s::int))::int AS pending,
        coalesce(sum(blocked.claims), 0)::int AS claims,
        coalesce(sum(blocked.failures), 0)::int AS failures
    FROM ccc_group_topics AS place
    JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
    LEFT JOIN LATERAL (
        SELECT position FROM ccc_deliveries WHERE group_topic_id = place.id ORDER BY position LIMIT 1
    ) AS delivered ON true
    CROSS JOIN LATERAL (
        SELECT count(*) AS pending FROM (
            SELECT FROM ccc_deliveries WHERE group_topic_id = place.id LIMIT (SELECT %(most)s::int)
        ) AS few
    ) AS open
    CROSS JOIN LATERAL (
        SELECT count(*) AS pending, min(position) AS position FROM (
            SELECT position FROM ccc_messages
            WHERE (topic, position) > (place.topic, place.watermark) AND topic = place.topic
              AND position <= (SELECT %(head)s::bigint)
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
            LIMIT (SELECT %(most)s::int)
        ) AS few
    ) AS blocked
    WHERE place.group_id = known.id AND subscription.status IN ('ACTIVE', 'PAUSED')
) AS work
WHERE known.kind = 'shared' AND ((SELECT %(every)s::boolean) OR known.name = ANY ((SELECT %(names)s)::text[]))
ORDER BY known.name
