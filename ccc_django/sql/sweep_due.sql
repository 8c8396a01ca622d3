-- sweep_due: in how many seconds the next scheduled message is due, how many ago the last sample was taken, and whether
-- a subscription has been silent for longer than its time-out.
SELECT
    (SELECT extract(epoch FROM min(due_at) - statement_timestamp())::float8 FROM ccc_scheduled_messages),
    (SELECT extract(epoch FROM statement_timestamp() - max(taken_at))::float8 FROM ccc_samples),
    EXISTS (
        SELECT FROM ccc_topic_subscriptions
        WHERE status = 'ACTIVE' AND partition_key = '' AND last_heartbeat_at IS NOT NULL
          AND last_heartbeat_at < statement_timestamp() - heartbeat_timeout * interval '1 second'
    )
