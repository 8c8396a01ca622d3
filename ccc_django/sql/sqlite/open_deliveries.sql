-- open_deliveries: messages of a shared group that can be claimed, the earliest first: ready, or their time is over.
SELECT place_id, position, attempts, again, group_id, epoch, retry, handled_types
FROM (
    SELECT
        place.id AS place_id, delivery.position, delivery.attempts, delivery.again, place.group_id, place.epoch, place.retry,
        place.handled_types
    FROM (
        SELECT place.id, known.id AS group_id, known.epoch, known.retry, known.handled_types
        FROM ccc_consumer_groups AS known
        JOIN ccc_group_topics AS place ON place.group_id = known.id
        JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
        WHERE known.name = %(name)s AND known.kind = 'shared'
          AND (known.status = 'active' OR known.retry_at <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'))
          AND subscription.status = 'ACTIVE' AND (%(topic)s = '' OR place.topic = %(topic)s)
    ) AS place
    JOIN ccc_deliveries AS delivery ON delivery.group_topic_id = place.id AND delivery.position IN (
        SELECT position FROM (
            SELECT position FROM ccc_deliveries AS ready INDEXED BY ccc_deliveries_ready
            WHERE ready.group_topic_id = place.id AND ready.blocked_until IS NULL
            ORDER BY position
            LIMIT %(limit)s
        )
        UNION ALL
        SELECT position FROM (
            SELECT position FROM ccc_deliveries AS late INDEXED BY ccc_deliveries_blocked
            WHERE late.group_topic_id = place.id AND late.blocked_until <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')
            ORDER BY blocked_until
            LIMIT 100
        )
    )
)
ORDER BY position
LIMIT %(limit)s
