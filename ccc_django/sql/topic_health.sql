-- topic_health: how groups are doing in topics, some or all of them; what waits is counted to a limit.
SELECT
    place.topic, known.name, known.kind, subscription.status, subscription.mode, place.start, subscription.last_heartbeat_at,
    place.processed, work.lowest, work.pending::int,
    (
        SELECT extract(epoch FROM statement_timestamp() - message.appended_at)::float8
        FROM ccc_messages AS message
        WHERE message.position >= work.lowest AND work.lowest IS NOT NULL
        ORDER BY message.position
        LIMIT 1
    )
FROM ccc_group_topics AS place
JOIN ccc_consumer_groups AS known ON known.id = place.group_id
JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
CROSS JOIN LATERAL (
    SELECT least(delivered.position, coming.position) AS lowest, delivered.pending + coming.pending AS pending
    FROM (
        SELECT min(position) AS position, count(*) AS pending FROM (
            SELECT position FROM ccc_deliveries WHERE group_topic_id = place.id ORDER BY position LIMIT (SELECT %(most)s::int)
        ) AS few
    ) AS delivered
    CROSS JOIN (
        SELECT min(position) AS position, count(*) AS pending FROM (
            SELECT position FROM ccc_messages
            WHERE (topic, position) > (place.topic, place.watermark) AND topic = place.topic
              AND position <= (SELECT %(head)s::bigint)
            ORDER BY topic, position  -- only the index on both has this order
            LIMIT (SELECT %(most)s::int)
        ) AS few
    ) AS coming
    WHERE known.kind = 'shared'
    UNION ALL
    SELECT
        least(open.position, (
            SELECT position FROM ccc_messages
            WHERE (topic, position) > (place.topic, known.watermark) AND topic = place.topic
              AND position <= (SELECT %(head)s::bigint)
            ORDER BY topic, position
            LIMIT 1
        )),
        open.pending
    FROM (
        SELECT min(next_position) AS position, count(*) AS pending FROM (
            SELECT next_position FROM ccc_offsets
            WHERE group_id = known.id AND next_position IS NOT NULL
            ORDER BY next_position
            LIMIT (SELECT %(most)s::int)
        ) AS few
    ) AS open
    WHERE known.kind = 'ordered'
) AS work
WHERE (SELECT %(every)s::boolean) OR place.topic = ANY ((SELECT %(topics)s)::text[])
ORDER BY place.topic, known.name
