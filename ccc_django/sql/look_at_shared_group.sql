-- look_at_shared_group: whether a shared group is there and active, whether its topics have grown, whether anything waits
-- to be claimed, and in how many seconds the next delivery that is blocked will.
-- Takes no lock, so that polling costs nobody anything.
SELECT
    known.status = 'active' OR coalesce(known.retry_at <= statement_timestamp(), false),
    coalesce(bool_or(next_message.position IS NOT NULL), false),
    0::bigint AS watermark,
    coalesce(bool_or(ready.position IS NOT NULL OR next_due.blocked_until <= statement_timestamp()), false),
    extract(epoch FROM min(next_due.blocked_until) - statement_timestamp())::float8,
    known.kind
FROM ccc_consumer_groups AS known
LEFT JOIN LATERAL (
    SELECT place.id, place.topic, place.watermark
    FROM ccc_group_topics AS place
    JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
    WHERE place.group_id = known.id AND subscription.status = 'ACTIVE'
      AND ((SELECT %(topic)s::text) = '' OR place.topic = (SELECT %(topic)s::text))
) AS place ON true
LEFT JOIN LATERAL (
    SELECT message.position FROM ccc_messages AS message
    WHERE (message.topic, message.position) > (place.topic, place.watermark)
      AND (message.topic, message.position) <= (place.topic, 9223372036854775807)  -- topic = … would read it from its beginning
    ORDER BY message.topic, message.position  -- only the index on both has this order
    LIMIT 1
) AS next_message ON true
LEFT JOIN LATERAL (
    SELECT delivery.position FROM ccc_deliveries AS delivery
    WHERE delivery.group_topic_id = place.id AND delivery.blocked_until IS NULL
      AND delivery.position >= CASE
          WHEN known.epoch = (SELECT %(floor_epoch)s::int) THEN (SELECT %(floor_position)s::bigint) ELSE 0
      END
    ORDER BY delivery.position
    LIMIT 1
) AS ready ON true
LEFT JOIN LATERAL (
    SELECT delivery.blocked_until FROM ccc_deliveries AS delivery
    WHERE delivery.group_topic_id = place.id AND delivery.blocked_until IS NOT NULL
    ORDER BY delivery.blocked_until
    LIMIT 1
) AS next_due ON true
WHERE known.name = (SELECT %(name)s::text)
GROUP BY known.id
