-- prune_messages: delete a range of a topic's messages that are old, but for types that are kept, dead letters, and what
-- partitions to come need; how many, and if they are to be listed, where. Probes are made by count: given NOT EXISTS, and
-- no statistics, the planner would rather scan a table; and where there is nothing to probe, none is made.
WITH gone AS (
    DELETE FROM ccc_messages AS message
    WHERE message.topic = (SELECT %(topic)s::text)
      AND message.position > (SELECT %(after)s::bigint) AND message.position <= (SELECT %(upto)s::bigint)
      AND
-- include: is_prunable
    RETURNING message.position
)
SELECT count(*), array_agg(position) FILTER (WHERE (SELECT %(listed)s::boolean)) FROM gone
