-- beat_subscriptions: groups are there. Written where half of the interval is over, or for one record.
-- What is dead goes on only where nobody can prune what it needs.
WITH due AS MATERIALIZED (
    SELECT id
    FROM ccc_topic_subscriptions
    WHERE group_name = ANY ((SELECT %(groups)s)::text[]) AND status <> 'CANCELLED' AND partition_key = ''
      AND (status <> 'DEAD' OR (SELECT %(revives)s::boolean))
      AND CASE WHEN (SELECT %(only)s::bigint) > 0
          THEN id = (SELECT %(only)s::bigint)
          ELSE status = 'DEAD' OR last_heartbeat_at IS NULL
              OR last_heartbeat_at <= statement_timestamp() - heartbeat_interval * interval '0.5 second'
      END
    ORDER BY id
    FOR NO KEY UPDATE
)
UPDATE ccc_topic_subscriptions AS beaten SET
    last_heartbeat_at = statement_timestamp(),
    last_active_at = statement_timestamp(),
    status = CASE WHEN beaten.status = 'DEAD' THEN 'ACTIVE' ELSE beaten.status END
FROM due
WHERE beaten.id = due.id
