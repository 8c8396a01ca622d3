-- expand_topics: new messages of a shared group's topics become deliveries, up to a position, some of each topic.
WITH place AS MATERIALIZED (
    SELECT place.id, place.topic, place.watermark
    FROM ccc_group_topics AS place
    JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
    WHERE place.group_id = (SELECT %(group)s::bigint) AND subscription.status = 'ACTIVE'
      AND place.watermark < (SELECT %(upto)s::bigint)
), found AS MATERIALIZED (
    SELECT place.id, message.position, message.message_type
    FROM place
    CROSS JOIN LATERAL (
        SELECT position, message_type
        FROM ccc_messages
        WHERE (topic, position) > (place.topic, place.watermark) AND (topic, position) <= (place.topic, (SELECT %(upto)s::bigint))
        ORDER BY topic, position  -- only the index on both has this order
        LIMIT (SELECT %(most)s::int)
    ) AS message
), added AS (
    INSERT INTO ccc_deliveries (group_topic_id, position)
    SELECT id, position FROM found
    WHERE (SELECT %(every)s::boolean) OR message_type = ANY ((SELECT %(types)s)::text[])
    ORDER BY id, position
    ON CONFLICT (group_topic_id, position) DO NOTHING  -- a dead letter on its way is there already
    RETURNING position
), passed AS (
    UPDATE ccc_group_topics AS moved SET
        watermark = reached.position, is_touched = moved.is_touched OR reached.has_some
    FROM (
        SELECT place.id,
            CASE WHEN count(found.position) >= (SELECT %(most)s::int) THEN max(found.position) ELSE (SELECT %(upto)s::bigint) END AS position,
            count(found.position) > 0 AS has_some
        FROM place LEFT JOIN found ON found.id = place.id
        GROUP BY place.id
    ) AS reached
    WHERE moved.id = reached.id
    RETURNING moved.watermark
)
SELECT
    (SELECT count(*) FROM found), (SELECT min(position) FROM added), (SELECT min(watermark) FROM passed)
