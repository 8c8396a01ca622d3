-- shared_status: where shared groups stand, some or all of them, read in one statement, so that their figures belong together.
-- What waits is counted to a limit. A topic in which nothing waits does not hold its group back.
WITH known AS MATERIALIZED (
    SELECT * FROM ccc_consumer_groups
    WHERE kind = 'shared' AND (%(every)s OR name IN (SELECT value FROM json_each(%(names)s)))
), place AS MATERIALIZED (
    SELECT
        place.group_id,
        (SELECT min(position) FROM ccc_deliveries WHERE group_topic_id = place.id) AS delivered,
        (
            SELECT min(position) FROM ccc_messages
            WHERE topic = place.topic AND position > place.watermark AND position <= %(head)s
        ) AS coming,
        (SELECT count(*) FROM (SELECT 1 FROM ccc_deliveries WHERE group_topic_id = place.id LIMIT %(most)s)) + (
            SELECT count(*) FROM (
                SELECT 1 FROM ccc_messages
                WHERE topic = place.topic AND position > place.watermark AND position <= %(head)s
                LIMIT %(most)s
            )
        ) AS pending,
        (
            SELECT count(*) FROM ccc_deliveries INDEXED BY ccc_deliveries_blocked
            WHERE group_topic_id = place.id AND blocked_until > strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now') AND claimed_by <> ''
        ) AS claims,
        (
            SELECT count(*) FROM ccc_deliveries INDEXED BY ccc_deliveries_blocked
            WHERE group_topic_id = place.id AND blocked_until IS NOT NULL AND error <> ''
        ) AS failures
    FROM known
    JOIN ccc_group_topics AS place ON place.group_id = known.id
    JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
    WHERE subscription.status IN ('ACTIVE', 'PAUSED')
), work AS MATERIALIZED (
    SELECT
        group_id, nullif(min(min(coalesce(delivered, 1 << 62), coalesce(coming, 1 << 62))), 1 << 62) AS lowest,
        min(sum(pending), %(most)s) AS pending, sum(claims) AS claims, sum(failures) AS failures
    FROM place
    GROUP BY group_id
)
SELECT
    known.name, known.kind,
    CASE WHEN known.retry_at <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now') THEN 'active' ELSE known.status END,
    known.error_context, %(head)s, work.lowest, 0, coalesce(work.pending, 0), coalesce(work.claims, 0),
    coalesce(work.failures, 0),
    (SELECT count(*) FROM ccc_dead_letters AS letter WHERE letter.group_id = known.id AND letter.status = 'open'),
    (
        SELECT (julianday('now') - julianday(message.appended_at)) * 86400.0
        FROM ccc_messages AS message
        WHERE message.position = work.lowest
    )
FROM known
LEFT JOIN work ON work.group_id = known.id
ORDER BY known.name
