-- look_at_group: whether a group is there and active, whether the log has grown, whether anything waits to be claimed,
-- and in how many seconds the next partition that is blocked will.
-- Takes no lock, so that polling costs nobody anything.
SELECT
    (known.status = 'active' OR coalesce(known.retry_at <= statement_timestamp(), false)) AND (known.topics IS NULL OR EXISTS (  -- a group of topics has one subscription, which decides
        SELECT FROM ccc_topic_subscriptions AS subscription
        WHERE subscription.group_name = known.name AND subscription.status = 'ACTIVE' AND subscription.partition_key = ''
    )),
    (SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM ccc_messages_position_seq) > known.watermark,
    known.watermark,
    coalesce(  -- in the order of an index: for EXISTS the planner may read the whole table, and keep doing so
        (
            SELECT true FROM ccc_offsets AS ready
            WHERE ready.group_id = known.id AND ready.next_position IS NOT NULL AND ready.blocked_until IS NULL
              AND (ready.next_position, ready.id) >= (
                  CASE WHEN known.epoch = (SELECT %(floor_epoch)s::int) THEN (SELECT %(floor_position)s::bigint) ELSE 0 END,
                  (SELECT %(floor_id)s::bigint)
              )
            ORDER BY ready.next_position, ready.id
            LIMIT 1
        ),
        next_due.blocked_until <= statement_timestamp(),
        false
    ),
    extract(epoch FROM next_due.blocked_until - statement_timestamp())::float8,
    known.kind
FROM ccc_consumer_groups AS known
LEFT JOIN LATERAL (
    SELECT blocked.blocked_until FROM ccc_offsets AS blocked
    WHERE blocked.group_id = known.id AND blocked.next_position IS NOT NULL AND blocked.blocked_until IS NOT NULL
    ORDER BY blocked.blocked_until
    LIMIT 1
) AS next_due ON true
WHERE known.name = (SELECT %(name)s::text)
