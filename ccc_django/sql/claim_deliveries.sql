-- claim_deliveries: give some messages of a shared group to a worker, the earliest first.
-- What was tried before comes by itself, so that the message that fails is known.
-- The floor is where this process last found work: before it lie the index entries of what is done, until VACUUM.
-- A message that was committed before its delivery is seen with it, so that no later statement is needed to read it.
WITH active AS MATERIALIZED (
    SELECT
        id, epoch, retry, handled_types, 1 + floor(random() * 9007199254740991)::bigint AS token,
        CASE WHEN epoch = (SELECT %(floor_epoch)s::int) THEN (SELECT %(floor_position)s::bigint) ELSE 0 END AS floor,
        CASE WHEN retry::jsonb @> '{"max_attempts": 1}' THEN 1 ELSE (SELECT %(limit)s::int) END AS most,
        CASE WHEN (SELECT %(lazy)s::boolean) THEN set_config('synchronous_commit', 'off', true) END
    FROM ccc_consumer_groups
    WHERE name = (SELECT %(name)s::text) AND (status = 'active' OR retry_at <= statement_timestamp())
), place AS MATERIALIZED (
    SELECT place.id, active.floor, active.most
    FROM active
    JOIN ccc_group_topics AS place ON place.group_id = active.id
    JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
    WHERE subscription.status = 'ACTIVE' AND ((SELECT %(topic)s::text) = '' OR place.topic = (SELECT %(topic)s::text))
), ready AS MATERIALIZED (  -- a fence: without it the planner may lock more rows than LIMIT
    SELECT place.id, known.position, known.attempts
    FROM place
    CROSS JOIN LATERAL (
        SELECT position, attempts
        FROM ccc_deliveries
        WHERE group_topic_id = place.id AND blocked_until IS NULL AND position >= place.floor
          AND position <= (SELECT 9223372036854775807)  -- so that few are expected: for many it would be compiled
        ORDER BY position
        LIMIT place.most
        FOR UPDATE SKIP LOCKED
    ) AS known
), late AS MATERIALIZED (  -- of those that have waited longest, the earliest
    SELECT place.id, known.position, known.attempts
    FROM place
    CROSS JOIN LATERAL (
        SELECT position, attempts
        FROM ccc_deliveries
        WHERE group_topic_id = place.id AND position = ANY (ARRAY(
            SELECT position
            FROM ccc_deliveries
            WHERE group_topic_id = place.id AND blocked_until <= statement_timestamp()
            ORDER BY blocked_until
            LIMIT 100
        ))
          AND blocked_until <= statement_timestamp()
        ORDER BY position
        LIMIT place.most
        FOR UPDATE SKIP LOCKED
    ) AS known
    WHERE (SELECT %(look_for_late)s::boolean)
), best AS MATERIALIZED (  -- as arrays: the planner takes LIMIT for a tenth of all deliveries, and would read all of them
    SELECT array_agg(id) AS ids, array_agg(position) AS positions, array_agg(is_late) AS lates
    FROM (
        SELECT
            *, row_number() OVER (ORDER BY position) AS number, first_value(attempts) OVER (ORDER BY position) AS first_attempts
        FROM (SELECT *, false AS is_late FROM ready UNION ALL SELECT *, true AS is_late FROM late) AS either
    ) AS ordered
    WHERE number <= (SELECT most FROM active) AND CASE WHEN first_attempts > 0 THEN number = 1 ELSE attempts = 0 END
), claimed AS (
    UPDATE ccc_deliveries AS held SET
        claimed_by = (SELECT %(worker)s::text),
        claimed_at = statement_timestamp(),
        blocked_until = statement_timestamp() + (SELECT %(lease)s::float8) * interval '1 second',
        token = active.token,
        attempts = held.attempts + 1
    FROM active, best, unnest(best.ids, best.positions, best.lates) AS chosen(id, position, is_late)
    WHERE held.group_topic_id = chosen.id AND held.position = chosen.position
    RETURNING
        held.group_topic_id, held.position, held.attempts, held.again, chosen.is_late, active.id AS group_id, active.epoch,
        active.token, active.retry::text AS retry, active.handled_types::text AS handled_types
)
SELECT
    claimed.group_topic_id, claimed.attempts, claimed.again, claimed.is_late, claimed.group_id, claimed.epoch, claimed.token,
    claimed.retry, claimed.handled_types,
    claimed.position, message.message_id, message.message_type, message.version, message.topic, message.payload::text,
    message.metadata::text, message.correlation_id, message.causation_id, message.created_at::text, message.appended_at::text
FROM claimed
LEFT JOIN LATERAL (
    SELECT * FROM ccc_messages AS row WHERE row.position = claimed.position OFFSET 0  -- a fence: by key, never by a scan
) AS message ON true
ORDER BY claimed.position
