-- claim_named_partition: give a certain partition to a worker, if nobody is at it, it does not pause, and is not done.
UPDATE ccc_offsets SET
    claimed_by = %(worker)s,
    claimed_at = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'),
    blocked_until = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %(lease)s),
    token = 1 + abs(random() %% 9007199254740991),
    attempts = attempts + 1
WHERE group_id = (
        SELECT id FROM ccc_consumer_groups
        WHERE name = %(name)s
          AND (status = 'active' OR retry_at <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'))
    )
  AND partition_id = unhex(%(partition)s)
  AND last_position < %(upto)s
  AND (blocked_until IS NULL OR blocked_until <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'))
RETURNING
    id, token, partition_key, key_pairs, last_position, next_position, head_position, replay_until, attempts, replays,
    0 AS is_late, group_id,
    (SELECT epoch FROM ccc_consumer_groups AS active WHERE active.id = ccc_offsets.group_id) AS epoch,
    (SELECT handled_types FROM ccc_consumer_groups AS active WHERE active.id = ccc_offsets.group_id) AS handled_types,
    (SELECT partition_by FROM ccc_consumer_groups AS active WHERE active.id = ccc_offsets.group_id) AS partition_by,
    (SELECT retry FROM ccc_consumer_groups AS active WHERE active.id = ccc_offsets.group_id) AS retry
