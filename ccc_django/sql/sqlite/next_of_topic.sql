-- next_of_topic: the next messages of a topic.
SELECT
    position, message_id, message_type, version, topic, payload, metadata, correlation_id, causation_id,
    created_at || '+00:00', appended_at || '+00:00'
FROM ccc_messages
WHERE topic = %(topic)s AND position > %(after)s
ORDER BY position
LIMIT %(most)s
