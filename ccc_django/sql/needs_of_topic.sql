-- needs_of_topic: who may need messages of a topic, from which position on, and whether they are kept for it.
-- These are the groups that get the topic, and those that get the whole log.
SELECT
    place.id, known.name, known.kind, known.handled_types::text, known.partition_by::text, place.watermark,
    NOT known.holds AS only_looks,
    known.holds AND (
        subscription.status IN ('ACTIVE', 'PAUSED')
        OR subscription.status = 'DEAD' AND (
            subscription.died_at IS NULL
            OR subscription.died_at > statement_timestamp() - (SELECT %(grace)s::float8) * interval '1 second'
        )
    ) AS holds,
    CASE known.kind
        WHEN 'shared' THEN least(place.watermark + 1, (
            SELECT position FROM ccc_deliveries WHERE group_topic_id = place.id ORDER BY position LIMIT 1
        ))
        ELSE least(known.watermark + 1, (
            SELECT next_position FROM ccc_offsets
            WHERE group_id = known.id AND next_position IS NOT NULL
            ORDER BY next_position
            LIMIT 1
        ))
    END AS first
FROM ccc_group_topics AS place
JOIN ccc_consumer_groups AS known ON known.id = place.group_id
JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
WHERE place.topic = (SELECT %(topic)s::text)
UNION ALL
SELECT
    NULL, known.name, known.kind, known.handled_types::text, known.partition_by::text, known.watermark, false, true,
    least(known.watermark + 1, (
        SELECT next_position FROM ccc_offsets
        WHERE group_id = known.id AND next_position IS NOT NULL
        ORDER BY next_position
        LIMIT 1
    ))
FROM ccc_consumer_groups AS known
WHERE known.topics IS NULL AND known.kind = 'ordered' AND known.holds
ORDER BY first, name
