-- claim_partition: give one partition with open work to a worker: the earliest that is ready, or whose time is over.
-- The floor is where this process last found work: before it lie the index entries of what is done, until VACUUM.
-- A claim that is lost in a crash does no harm: where it is committed by itself, nobody waits for the disk.
WITH active AS MATERIALIZED (
    SELECT
        id, epoch, handled_types, partition_by, retry, topics,
        CASE WHEN (SELECT %(lazy)s::boolean) THEN set_config('synchronous_commit', 'off', true) END
    FROM ccc_consumer_groups
    WHERE name = (SELECT %(name)s::text) AND (status = 'active' OR retry_at <= statement_timestamp())
    AND (topics IS NULL OR EXISTS (  -- a group of topics has one subscription, which decides
        SELECT FROM ccc_topic_subscriptions AS subscription
        WHERE subscription.group_name = name AND subscription.status = 'ACTIVE' AND subscription.partition_key = ''
    ))
), ready AS MATERIALIZED (  -- a fence: without it the planner may lock more rows than LIMIT
    SELECT known.id, known.next_position, false AS is_late
    FROM active
    CROSS JOIN LATERAL (
        SELECT id, next_position
        FROM ccc_offsets
        WHERE group_id = active.id AND next_position IS NOT NULL AND blocked_until IS NULL
          AND (next_position, id) >= (
              CASE WHEN active.epoch = (SELECT %(floor_epoch)s::int) THEN (SELECT %(floor_position)s::bigint) ELSE 0 END,
              (SELECT %(floor_id)s::bigint)
          )
        ORDER BY next_position, id
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS known
), late AS MATERIALIZED (  -- of those that have waited longest, the earliest
    SELECT known.id, known.next_position, true AS is_late
    FROM active
    CROSS JOIN LATERAL (
        SELECT id, next_position
        FROM ccc_offsets
        WHERE id = ANY (ARRAY(
            SELECT id
            FROM ccc_offsets
            WHERE group_id = active.id AND next_position IS NOT NULL AND blocked_until <= statement_timestamp()
            ORDER BY blocked_until
            LIMIT 20
        ))
          AND next_position IS NOT NULL AND blocked_until <= statement_timestamp()
        ORDER BY next_position, id
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS known
    WHERE (SELECT %(look_for_late)s::boolean)
), best AS MATERIALIZED (
    SELECT id, is_late FROM (SELECT * FROM ready UNION ALL SELECT * FROM late) AS either ORDER BY next_position, id LIMIT 1
)
UPDATE ccc_offsets AS claimed SET
    claimed_by = (SELECT %(worker)s::text),
    claimed_at = statement_timestamp(),
    blocked_until = statement_timestamp() + (SELECT %(lease)s::float8) * interval '1 second',
    token = 1 + floor(random() * 9007199254740991)::bigint,
    attempts = claimed.attempts + 1
FROM best, active
WHERE claimed.id = best.id
RETURNING
    claimed.id, claimed.token, claimed.partition_key, claimed.key_pairs, claimed.last_position, claimed.next_position,
    claimed.head_position, claimed.replay_until, claimed.attempts, claimed.replays, best.is_late,
    active.id AS group_id, active.epoch, active.handled_types::text, active.partition_by::text, active.retry::text, active.topics::text
