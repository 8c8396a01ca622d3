-- bury_subscriptions: what has had a heartbeat, and none for its time-out, is dead; whoever is at a record is not waited for.
WITH silent AS MATERIALIZED (
    SELECT id
    FROM ccc_topic_subscriptions
    WHERE status = 'ACTIVE' AND partition_key = '' AND last_heartbeat_at IS NOT NULL
      AND last_heartbeat_at < statement_timestamp() - heartbeat_timeout * interval '1 second'
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE ccc_topic_subscriptions AS buried SET status = 'DEAD', died_at = statement_timestamp()
FROM silent
WHERE buried.id = silent.id
RETURNING buried.group_name, buried.topic, buried.namespace, buried.task
