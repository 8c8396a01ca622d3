-- look_at_shared_group: whether a shared group is there and active, whether its topics have grown, whether anything waits
-- to be claimed, and in how many seconds the next delivery that is blocked will.
SELECT
    known.status = 'active' OR coalesce(known.retry_at <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'), 0),
    coalesce(max(EXISTS (
        SELECT 1 FROM ccc_messages AS message WHERE message.topic = place.topic AND message.position > place.watermark
    )), 0),
    0 AS watermark,
    coalesce(max(EXISTS (
        SELECT 1 FROM ccc_deliveries AS ready INDEXED BY ccc_deliveries_ready
        WHERE ready.group_topic_id = place.id AND ready.blocked_until IS NULL
    ) OR EXISTS (
        SELECT 1 FROM ccc_deliveries AS late INDEXED BY ccc_deliveries_blocked
        WHERE late.group_topic_id = place.id AND late.blocked_until <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')
    )), 0),
    min((
        SELECT (julianday(blocked.blocked_until) - julianday('now')) * 86400.0
        FROM ccc_deliveries AS blocked INDEXED BY ccc_deliveries_blocked
        WHERE blocked.group_topic_id = place.id AND blocked.blocked_until IS NOT NULL
        ORDER BY blocked.blocked_until
        LIMIT 1
    )),
    known.kind
FROM ccc_consumer_groups AS known
LEFT JOIN (
    SELECT place.id, place.group_id, place.topic, place.watermark
    FROM ccc_group_topics AS place
    JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
    WHERE subscription.status = 'ACTIVE' AND (%(topic)s = '' OR place.topic = %(topic)s)
) AS place ON place.group_id = known.id
WHERE known.name = %(name)s
GROUP BY known.id
