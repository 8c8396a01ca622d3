-- prune_messages: delete a range of a topic's messages that are old, but for types that are kept, dead letters, and what
-- partitions to come need; how many of each type, and where. Probes are made by count: given NOT EXISTS, and no
-- statistics, the planner would rather scan a table; and where there is nothing to probe, none is made.
WITH gone AS (
    DELETE FROM ccc_messages AS message
    WHERE (message.topic, message.position) > ((SELECT %(topic)s::text), (SELECT %(after)s::bigint))
      AND (message.topic, message.position) <= ((SELECT %(topic)s::text), (SELECT %(upto)s::bigint))
      AND
-- include: is_prunable
    RETURNING message.message_type, message.position
)
SELECT
    message_type, count(*), min(position), max(position),
    array_agg(position) FILTER (WHERE (SELECT %(listed)s::boolean))
FROM gone
GROUP BY message_type
