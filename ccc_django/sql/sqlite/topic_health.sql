-- topic_health: how groups are doing in topics, some or all of them; what waits is counted to a limit.
WITH place AS MATERIALIZED (
    SELECT
        place.id, place.topic, known.name, known.kind, subscription.status, subscription.mode, place.start,
        subscription.last_heartbeat_at, place.processed, place.lost_from, place.lost_to,
        CASE known.kind
            WHEN 'shared' THEN (SELECT min(position) FROM ccc_deliveries WHERE group_topic_id = place.id)
            ELSE (SELECT min(next_position) FROM ccc_offsets WHERE group_id = known.id AND next_position IS NOT NULL)
        END AS opened,
        (
            SELECT min(position) FROM ccc_messages
            WHERE topic = place.topic AND position <= %(head)s
              AND position > CASE known.kind WHEN 'shared' THEN place.watermark ELSE known.watermark END
        ) AS coming,
        CASE known.kind
            WHEN 'shared' THEN (
                SELECT count(*) FROM (SELECT 1 FROM ccc_deliveries WHERE group_topic_id = place.id LIMIT %(most)s)
            ) + (
                SELECT count(*) FROM (
                    SELECT 1 FROM ccc_messages
                    WHERE topic = place.topic AND position > place.watermark AND position <= %(head)s
                    LIMIT %(most)s
                )
            )
            ELSE (
                SELECT count(*) FROM (
                    SELECT 1 FROM ccc_offsets WHERE group_id = known.id AND next_position IS NOT NULL LIMIT %(most)s
                )
            )
        END AS pending
    FROM ccc_group_topics AS place
    JOIN ccc_consumer_groups AS known ON known.id = place.group_id
    JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
    WHERE %(every)s OR place.topic IN (SELECT value FROM json_each(%(topics)s))
), work AS MATERIALIZED (
    SELECT *, min(coalesce(opened, coming), coalesce(coming, opened)) AS lowest FROM place
)
SELECT
    topic, name, kind, status, mode, start, last_heartbeat_at, processed, lowest, pending,
    (
        SELECT (julianday('now') - julianday(message.appended_at)) * 86400.0
        FROM ccc_messages AS message
        WHERE message.position >= work.lowest
        ORDER BY message.position
        LIMIT 1
    ),
    lost_from, lost_to
FROM work
ORDER BY topic, name
