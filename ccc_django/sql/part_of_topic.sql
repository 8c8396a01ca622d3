-- part_of_topic: the next messages of a topic up to a position: the first and the last of them, and how many they are.
SELECT min(position), max(position), count(*)
FROM (
    SELECT position
    FROM ccc_messages
    WHERE (topic, position) > ((SELECT %(topic)s::text), (SELECT %(after)s::bigint))
      AND (topic, position) <= ((SELECT %(topic)s::text), (SELECT %(upto)s::bigint))
    ORDER BY topic, position  -- only the index on both has this order
    LIMIT (SELECT %(most)s::int)
) AS next
