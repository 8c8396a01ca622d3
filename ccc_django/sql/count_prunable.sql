-- count_prunable: how many of a range of a topic's messages would be pruned, and the first that would not.
SELECT count(*) FILTER (WHERE is_prunable), min(position) FILTER (WHERE NOT is_prunable)
FROM (
    SELECT message.position, (
-- include: is_prunable
    ) AS is_prunable
    FROM ccc_messages AS message
    WHERE (message.topic, message.position) > ((SELECT %(topic)s::text), (SELECT %(after)s::bigint))
      AND (message.topic, message.position) <= ((SELECT %(topic)s::text), (SELECT %(upto)s::bigint))
) AS known
