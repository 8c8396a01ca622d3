-- dead_subscriptions: what of some groups is dead, or of one record, and will go on with the next heartbeat.
SELECT id, group_name, topic, namespace, task
FROM ccc_topic_subscriptions
WHERE status = 'DEAD' AND partition_key = '' AND group_name IN (SELECT value FROM json_each(%(groups)s)) AND (%(only)s = 0 OR id = %(only)s)
