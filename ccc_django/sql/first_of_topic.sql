-- first_of_topic: the first message of a topic behind a position.
SELECT position, appended_at
FROM ccc_messages
WHERE (topic, position) > ((SELECT %(topic)s::text), (SELECT %(after)s::bigint))
  AND (topic, position) <= ((SELECT %(topic)s::text), 9223372036854775807)
ORDER BY topic, position  -- only the index on both has this order
LIMIT 1
