-- sweep_due: in how many seconds the next scheduled message is due, how many ago the last sample was taken, whether
-- a subscription has been silent for longer than its time-out, and whether a topic does not keep its messages for ever.
SELECT
    (SELECT extract(epoch FROM min(due_at) - statement_timestamp())::float8 FROM ccc_scheduled_messages),
    (SELECT extract(epoch FROM statement_timestamp() - max(taken_at))::float8 FROM ccc_samples),
    EXISTS (
        SELECT FROM ccc_topic_subscriptions
        WHERE status = 'ACTIVE' AND partition_key = '' AND last_heartbeat_at IS NOT NULL
          AND last_heartbeat_at < statement_timestamp() - heartbeat_timeout * interval '1 second'
    ),
    EXISTS (SELECT FROM ccc_topics WHERE retention IS NOT NULL OR unsubscribed_retention IS NOT NULL)
