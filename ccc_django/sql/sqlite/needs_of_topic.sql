-- needs_of_topic: who may need messages of a topic, from which position on, and whether they are kept for it.
-- These are the groups that get the topic, and those that get the whole log.
SELECT
    place.id, known.name, known.kind, known.handled_types, known.partition_by, place.watermark,
    NOT known.holds AS only_looks,
    known.holds AND (
        subscription.status IN ('ACTIVE', 'PAUSED')
        OR subscription.status = 'DEAD' AND (
            subscription.died_at IS NULL OR subscription.died_at > strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %(grace)s)
        )
    ) AS holds,
    CASE known.kind
        WHEN 'shared' THEN min(place.watermark + 1, coalesce((
            SELECT position FROM ccc_deliveries WHERE group_topic_id = place.id ORDER BY position LIMIT 1
        ), place.watermark + 1))
        ELSE min(known.watermark + 1, coalesce((
            SELECT min(next_position) FROM ccc_offsets WHERE group_id = known.id AND next_position IS NOT NULL
        ), known.watermark + 1))
    END AS first
FROM ccc_group_topics AS place
JOIN ccc_consumer_groups AS known ON known.id = place.group_id
JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
WHERE place.topic = %(topic)s
UNION ALL
SELECT
    NULL, known.name, known.kind, known.handled_types, known.partition_by, known.watermark, 0, 1,
    min(known.watermark + 1, coalesce((
        SELECT min(next_position) FROM ccc_offsets WHERE group_id = known.id AND next_position IS NOT NULL
    ), known.watermark + 1))
FROM ccc_consumer_groups AS known
WHERE known.topics IS NULL AND known.kind = 'ordered' AND known.holds
ORDER BY first, name
