-- next_of_topic: the next messages of a topic.
SELECT
    position, message_id, message_type, version, topic, payload::text, metadata::text, correlation_id, causation_id,
    created_at::text, appended_at::text
FROM ccc_messages
WHERE (topic, position) > ((SELECT %(topic)s::text), (SELECT %(after)s::bigint))
  AND (topic, position) <= ((SELECT %(topic)s::text), 9223372036854775807)
ORDER BY topic, position  -- only the index on both has this order
LIMIT (SELECT %(most)s::int)
