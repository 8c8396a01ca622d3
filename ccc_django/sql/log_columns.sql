SELECT
    message.position, message.message_id::text, message.message_type, message.version, message.topic, message.payload::text,
    message.metadata::text, message.correlation_id::text, message.causation_id::text, message.created_at, message.appended_at,
    message.shape
