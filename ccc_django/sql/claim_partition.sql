-- claim_partition: give one partition with open work to a worker: the earliest that is ready, or whose time is over.
WITH active AS MATERIALIZED (
    SELECT id, floor_position, floor_id, epoch, handled_types, partition_by
    FROM ccc_consumer_groups
    WHERE name = (SELECT %(name)s::text) AND (status = 'active' OR retry_at <= statement_timestamp())
), ready AS MATERIALIZED (  -- a fence: without it the planner may lock more rows than LIMIT
    SELECT known.id, known.next_position
    FROM active
    CROSS JOIN LATERAL (
        SELECT id, next_position
        FROM ccc_offsets
        WHERE group_id = active.id AND next_position IS NOT NULL AND blocked_until IS NULL
          AND (next_position, id) >= (active.floor_position * (SELECT %(floored)s::int), active.floor_id)
        ORDER BY next_position, id
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS known
), late AS MATERIALIZED (
    SELECT known.id, known.next_position
    FROM active
    CROSS JOIN LATERAL (
        SELECT id, next_position
        FROM ccc_offsets
        WHERE group_id = active.id AND next_position IS NOT NULL AND blocked_until <= statement_timestamp()
        ORDER BY blocked_until
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS known
), best AS MATERIALIZED (
    SELECT id FROM (SELECT * FROM ready UNION ALL SELECT * FROM late) AS either ORDER BY next_position, id LIMIT 1
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
    claimed.id, claimed.token, claimed.partition_key, claimed.key_pairs, claimed.last_position, claimed.head_position,
    claimed.replay_until, claimed.attempts, active.epoch,
    active.handled_types::text, active.partition_by::text
