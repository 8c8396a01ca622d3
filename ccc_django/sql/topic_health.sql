-- topic_health: how groups are doing in topics, some or all of them; what waits is counted to a limit.
-- Rows are compared as a whole: with topic = … a topic would be read from its beginning.
-- Bounds, arrays and the second limit keep the planner from expecting a part of the log for each group, and from compiling
-- the statement for it, which takes longer than the statement.
WITH place AS MATERIALIZED (
    SELECT * FROM ccc_group_topics WHERE (SELECT %(every)s::boolean)
    UNION ALL
    SELECT * FROM ccc_group_topics WHERE NOT (SELECT %(every)s::boolean) AND topic = ANY ((SELECT %(topics)s)::text[])
), shared AS MATERIALIZED (
    SELECT
        place.id, place.topic, place.watermark, delivered.position, delivered.pending,
        greatest((SELECT %(most)s::int) - delivered.pending, 1) AS most
    FROM place
    JOIN ccc_consumer_groups AS known ON known.id = place.group_id
    CROSS JOIN LATERAL (
        SELECT min(position) AS position, count(*) AS pending FROM (
            SELECT position FROM ccc_deliveries
            WHERE group_topic_id = place.id AND position > (SELECT 0) AND position <= (SELECT 9223372036854775807)
            ORDER BY position
            LIMIT (SELECT %(most)s::int)
        ) AS few
    ) AS delivered
    WHERE known.kind = 'shared'
), reached AS MATERIALIZED (
    SELECT array_agg(topic) AS topics, array_agg(watermark) AS watermarks, array_agg(most) AS mosts
    FROM (SELECT DISTINCT topic, watermark, most FROM shared) AS each
), coming AS MATERIALIZED (  -- once for all groups that have come equally far
    SELECT point.topic, point.watermark, point.most, later.position, later.pending
    FROM reached
    CROSS JOIN LATERAL unnest(reached.topics, reached.watermarks, reached.mosts) AS point(topic, watermark, most)
    CROSS JOIN LATERAL (
        SELECT min(position) AS position, count(*) AS pending FROM (
            SELECT position FROM (
                SELECT position FROM ccc_messages
                WHERE (topic, position) > (point.topic, point.watermark)
                  AND (topic, position) <= (point.topic, (SELECT %(head)s::bigint))
                ORDER BY topic, position  -- only the index on both has this order
                LIMIT 50000  -- more than is ever asked for
            ) AS next
            LIMIT point.most
        ) AS few
    ) AS later
), work AS MATERIALIZED (
    SELECT shared.id, least(shared.position, coming.position) AS lowest, shared.pending + coming.pending AS pending
    FROM shared
    JOIN coming USING (topic, watermark, most)
    UNION ALL
    SELECT
        place.id,
        least(opened.position, (
            SELECT position FROM ccc_messages
            WHERE (topic, position) > (place.topic, known.watermark)
              AND (topic, position) <= (place.topic, (SELECT %(head)s::bigint))
            ORDER BY topic, position
            LIMIT 1
        )),
        opened.pending
    FROM place
    JOIN ccc_consumer_groups AS known ON known.id = place.group_id
    CROSS JOIN LATERAL (
        SELECT min(next_position) AS position, count(*) AS pending FROM (
            SELECT next_position FROM ccc_offsets
            WHERE group_id = known.id AND next_position IS NOT NULL
            ORDER BY next_position
            LIMIT (SELECT %(most)s::int)
        ) AS few
    ) AS opened
    WHERE known.kind = 'ordered'
)
SELECT
    place.topic, known.name, known.kind, subscription.status, subscription.mode, place.start, subscription.last_heartbeat_at,
    place.processed, work.lowest, work.pending::int,
    (
        SELECT extract(epoch FROM statement_timestamp() - message.appended_at)::float8
        FROM ccc_messages AS message
        WHERE message.position >= work.lowest AND work.lowest IS NOT NULL
        ORDER BY message.position
        LIMIT 1
    ),
    place.lost_from, place.lost_to
FROM work
JOIN ccc_group_topics AS place USING (id)
JOIN ccc_consumer_groups AS known ON known.id = place.group_id
JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
ORDER BY place.topic, known.name
