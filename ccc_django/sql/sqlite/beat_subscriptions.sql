-- beat_subscriptions: groups are there. Written where half of the interval is over, or for one record.
-- What is dead goes on only where nobody can prune what it needs.
UPDATE ccc_topic_subscriptions SET
    last_heartbeat_at = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'),
    last_active_at = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'),
    status = CASE WHEN status = 'DEAD' THEN 'ACTIVE' ELSE status END
WHERE group_name IN (SELECT value FROM json_each(%(groups)s)) AND status <> 'CANCELLED' AND partition_key = ''
  AND (status <> 'DEAD' OR %(revives)s)
  AND CASE WHEN %(only)s > 0
      THEN id = %(only)s
      ELSE status = 'DEAD' OR last_heartbeat_at IS NULL OR last_heartbeat_at <= strftime(
          '%%Y-%%m-%%d %%H:%%M:%%f', 'now', '-' || (heartbeat_interval * 0.5) || ' seconds'
      )
  END
