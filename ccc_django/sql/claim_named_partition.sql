-- claim_named_partition: give a certain partition to a worker, if nobody is at it, it does not pause, and is not done.
WITH active AS MATERIALIZED (
    SELECT id, epoch, handled_types, partition_by, retry
    FROM ccc_consumer_groups
    WHERE name = (SELECT %(name)s::text) AND (status = 'active' OR retry_at <= statement_timestamp())
), free AS MATERIALIZED (
    SELECT known.id
    FROM active
    CROSS JOIN LATERAL (
        SELECT id
        FROM ccc_offsets
        WHERE group_id = active.id AND partition_id = (SELECT %(partition)s::uuid)
          AND last_position < (SELECT %(upto)s::bigint)
          AND (blocked_until IS NULL OR blocked_until <= statement_timestamp())
        FOR UPDATE SKIP LOCKED
    ) AS known
)
UPDATE ccc_offsets AS claimed SET
    claimed_by = (SELECT %(worker)s::text),
    claimed_at = statement_timestamp(),
    blocked_until = statement_timestamp() + (SELECT %(lease)s::float8) * interval '1 second',
    token = 1 + floor(random() * 9007199254740991)::bigint,
    attempts = claimed.attempts + 1
FROM free, active
WHERE claimed.id = free.id
RETURNING
    claimed.id, claimed.token, claimed.partition_key, claimed.key_pairs, claimed.last_position, claimed.next_position,
    claimed.head_position, claimed.replay_until, claimed.attempts, claimed.replays, false AS is_late,
    active.id AS group_id, active.epoch, active.handled_types::text, active.partition_by::text, active.retry::text
