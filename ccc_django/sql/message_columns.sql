SELECT
    message.position, message.message_id, message.message_type, message.version, message.topic, message.payload::text,
    message.metadata::text, message.correlation_id, message.causation_id, message.created_at::text, message.appended_at::text
FROM found
CROSS JOIN LATERAL (
    SELECT * FROM ccc_messages AS row WHERE row.position = found.position OFFSET 0  -- a fence: by key, never by a scan
) AS message
ORDER BY message.position
