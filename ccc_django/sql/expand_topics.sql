-- expand_topics: new messages of a shared group's topics become deliveries, up to a position, some of each topic.
-- Of what was there before the group came, no more a second than somebody wants: those since the last time.
WITH place AS MATERIALIZED (
    SELECT id, topic, watermark, most
    FROM (
        SELECT
            place.id, place.topic, place.watermark,
            CASE
                WHEN place.backfill_rate IS NULL OR place.watermark >= place.backfill_upto THEN (SELECT %(most)s::int)
                ELSE least((SELECT %(most)s::int), floor(place.backfill_rate * extract(epoch FROM
                    statement_timestamp() - coalesce(place.backfilled_at, statement_timestamp() - interval '1 second')
                )))::int
            END AS most
        FROM ccc_group_topics AS place
        JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
        WHERE place.group_id = (SELECT %(group)s::bigint) AND subscription.status = 'ACTIVE'
          AND place.watermark < (SELECT %(upto)s::bigint)
    ) AS known
    WHERE most > 0
), found AS MATERIALIZED (
    SELECT place.id, message.position, message.message_type
    FROM place
    CROSS JOIN LATERAL (
        SELECT position, message_type
        FROM ccc_messages
        WHERE (topic, position) > (place.topic, place.watermark) AND (topic, position) <= (place.topic, (SELECT %(upto)s::bigint))
        ORDER BY topic, position  -- only the index on both has this order
        LIMIT place.most
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
        watermark = reached.position, is_touched = moved.is_touched OR reached.has_some,
        backfilled_at = CASE WHEN moved.backfill_rate IS NULL THEN moved.backfilled_at ELSE statement_timestamp() END
    FROM (
        SELECT place.id,
            CASE WHEN count(found.position) >= place.most THEN max(found.position) ELSE (SELECT %(upto)s::bigint) END AS position,
            count(found.position) > 0 AS has_some
        FROM place LEFT JOIN found ON found.id = place.id
        GROUP BY place.id, place.most
    ) AS reached
    WHERE moved.id = reached.id
    RETURNING moved.watermark
)
SELECT
    (SELECT count(*) FROM found), (SELECT min(position) FROM added), (SELECT min(watermark) FROM passed)
