-- messages_at: messages by their positions.
SELECT
    message.position, message.message_id, message.message_type, message.version, message.topic, message.payload,
    message.metadata, message.correlation_id, message.causation_id,
    message.created_at || '+00:00', message.appended_at || '+00:00'
FROM json_each(%(positions)s) AS wanted
CROSS JOIN ccc_messages AS message ON message.position = wanted.value
ORDER BY message.position
