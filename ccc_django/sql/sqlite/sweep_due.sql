-- sweep_due: in how many seconds the next scheduled message is due, how many ago the last sample was taken, whether
-- a subscription has been silent for longer than its time-out, and whether a topic does not keep its messages for ever.
SELECT
    (SELECT (julianday(min(due_at)) - julianday('now')) * 86400.0 FROM ccc_scheduled_messages),
    (SELECT (julianday('now') - julianday(max(taken_at))) * 86400.0 FROM ccc_samples),
    EXISTS (
        SELECT 1 FROM ccc_topic_subscriptions
        WHERE status = 'ACTIVE' AND partition_key = '' AND last_heartbeat_at IS NOT NULL
          AND last_heartbeat_at < strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '-' || heartbeat_timeout || ' seconds')
    ),
    EXISTS (SELECT 1 FROM ccc_topics WHERE retention IS NOT NULL OR unsubscribed_retention IS NOT NULL)
