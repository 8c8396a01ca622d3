-- claim_partition: give one partition with open work to a worker: the earliest that is ready, or whose time is over.
UPDATE ccc_offsets SET
    claimed_by = %(worker)s,
    claimed_at = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'),
    blocked_until = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %(lease)s),
    token = 1 + abs(random() %% 9007199254740991),
    attempts = attempts + 1
WHERE id = (
    WITH active AS MATERIALIZED (
        SELECT id FROM ccc_consumer_groups
        WHERE name = %(name)s
          AND (status = 'active' OR retry_at <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'))
          AND (topics IS NULL OR EXISTS (  -- a group of topics has one subscription, which decides
              SELECT 1 FROM ccc_topic_subscriptions AS subscription
              WHERE subscription.group_name = name AND subscription.status = 'ACTIVE' AND subscription.partition_key = ''
          ))
    )
    SELECT id
    FROM (
        SELECT * FROM (
            SELECT id, next_position
            FROM ccc_offsets AS known INDEXED BY ccc_offsets_ready
            WHERE group_id = (SELECT active.id FROM active) AND next_position IS NOT NULL AND blocked_until IS NULL
            ORDER BY next_position, id
            LIMIT 1
        )
        UNION ALL
        SELECT * FROM (  -- those that have waited longest
            SELECT id, next_position
            FROM ccc_offsets AS known INDEXED BY ccc_offsets_blocked
            WHERE group_id = (SELECT active.id FROM active) AND next_position IS NOT NULL
              AND blocked_until <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')
            ORDER BY blocked_until
            LIMIT 20
        )
    )
    ORDER BY next_position, id
    LIMIT 1
)
RETURNING
    id, token, partition_key, key_pairs, last_position, next_position, head_position, replay_until, attempts, replays,
    0 AS is_late, group_id,
    (SELECT epoch FROM ccc_consumer_groups AS active WHERE active.id = ccc_offsets.group_id) AS epoch,
    (SELECT handled_types FROM ccc_consumer_groups AS active WHERE active.id = ccc_offsets.group_id) AS handled_types,
    (SELECT partition_by FROM ccc_consumer_groups AS active WHERE active.id = ccc_offsets.group_id) AS partition_by,
    (SELECT retry FROM ccc_consumer_groups AS active WHERE active.id = ccc_offsets.group_id) AS retry,
    (SELECT topics FROM ccc_consumer_groups AS active WHERE active.id = ccc_offsets.group_id) AS topics
