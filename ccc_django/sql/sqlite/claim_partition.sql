-- claim_partition: give one partition with open work to a worker: the earliest that is ready, or whose time is over.
UPDATE ccc_offsets SET
    claimed_by = %(worker)s,
    claimed_at = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'),
    blocked_until = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '+' || %(lease)s || ' seconds'),
    token = 1 + abs(random() %% 9007199254740991),
    attempts = attempts + 1
WHERE id = (
    SELECT id
    FROM (
        SELECT * FROM (
            SELECT known.id, known.next_position
            FROM ccc_consumer_groups AS active CROSS JOIN ccc_offsets AS known
            WHERE active.name = %(name)s
              AND (active.status = 'active' OR active.retry_at <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'))
              AND known.group_id = active.id AND known.next_position IS NOT NULL AND known.blocked_until IS NULL
              AND known.next_position >= active.floor_position * %(floored)s
            ORDER BY known.next_position, known.id
            LIMIT 1
        )
        UNION ALL
        SELECT * FROM (
            SELECT known.id, known.next_position
            FROM ccc_consumer_groups AS active CROSS JOIN ccc_offsets AS known
            WHERE active.name = %(name)s
              AND (active.status = 'active' OR active.retry_at <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'))
              AND known.group_id = active.id AND known.next_position IS NOT NULL
              AND known.blocked_until <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')
            ORDER BY known.blocked_until
            LIMIT 1
        )
    )
    ORDER BY next_position, id
    LIMIT 1
)
RETURNING
    id, token, partition_key, key_pairs, last_position, head_position, replay_until, attempts,
    (SELECT types_version FROM ccc_consumer_groups AS active WHERE active.id = ccc_offsets.group_id)
