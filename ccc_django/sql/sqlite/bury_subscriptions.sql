-- bury_subscriptions: what has had a heartbeat, and none for its time-out, is dead.
UPDATE ccc_topic_subscriptions SET status = 'DEAD', died_at = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')
WHERE status = 'ACTIVE' AND partition_key = '' AND last_heartbeat_at IS NOT NULL
  AND last_heartbeat_at < strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '-' || heartbeat_timeout || ' seconds')
RETURNING group_name, topic, namespace, task
