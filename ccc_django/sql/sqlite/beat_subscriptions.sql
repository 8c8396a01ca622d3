-- beat_subscriptions: groups are there; what was dead goes on. Written where half of the interval is over, or for one record.
UPDATE ccc_topic_subscriptions AS beaten SET
    last_heartbeat_at = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'),
    last_active_at = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'),
    status = CASE WHEN beaten.status = 'DEAD' THEN 'ACTIVE' ELSE beaten.status END
FROM (
    SELECT id, status AS was
    FROM ccc_topic_subscriptions
    WHERE group_name IN (SELECT value FROM json_each(%(groups)s)) AND status <> 'CANCELLED'
      AND CASE WHEN %(only)s > 0
          THEN id = %(only)s
          ELSE status = 'DEAD' OR last_heartbeat_at IS NULL OR last_heartbeat_at <= strftime(
              '%%Y-%%m-%%d %%H:%%M:%%f', 'now', '-' || (heartbeat_interval * 0.5) || ' seconds'
          )
      END
) AS due
WHERE beaten.id = due.id
RETURNING group_name, topic, namespace, task, due.was
