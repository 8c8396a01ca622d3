-- look_at_group: whether a group is there and active, whether the log has grown, whether anything waits to be claimed,
-- and in how many seconds the next partition that is blocked will.
SELECT
    (known.status = 'active' OR coalesce(known.retry_at <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'), 0)) AND (known.topics IS NULL OR EXISTS (  -- a group of topics has one subscription, which decides
        SELECT 1 FROM ccc_topic_subscriptions AS subscription
        WHERE subscription.group_name = known.name AND subscription.status = 'ACTIVE' AND subscription.partition_key = ''
    )),
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'ccc_messages'), 0) > known.watermark,
    known.watermark,
    EXISTS (
        SELECT 1 FROM ccc_offsets AS ready INDEXED BY ccc_offsets_ready
        WHERE ready.group_id = known.id AND ready.next_position IS NOT NULL AND ready.blocked_until IS NULL
    ) OR EXISTS (
        SELECT 1 FROM ccc_offsets AS late INDEXED BY ccc_offsets_blocked
        WHERE late.group_id = known.id AND late.next_position IS NOT NULL
          AND late.blocked_until <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')
    ),
    (
        SELECT (julianday(blocked.blocked_until) - julianday('now')) * 86400.0
        FROM ccc_offsets AS blocked INDEXED BY ccc_offsets_blocked
        WHERE blocked.group_id = known.id AND blocked.next_position IS NOT NULL AND blocked.blocked_until IS NOT NULL
        ORDER BY blocked.blocked_until
        LIMIT 1
    ),
    known.kind
FROM ccc_consumer_groups AS known
WHERE known.name = %(name)s
