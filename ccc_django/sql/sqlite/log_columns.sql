SELECT
    message.position, message.message_id, message.message_type, message.version, message.topic, message.payload,
    message.metadata, message.correlation_id, message.causation_id, message.created_at, message.appended_at, message.shape
