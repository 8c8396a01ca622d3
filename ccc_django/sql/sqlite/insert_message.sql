-- insert_message: one row of the log.
INSERT INTO ccc_messages (
    position, message_id, message_type, version, topic, payload, metadata, correlation_id, causation_id, created_at, shape, appended_at
)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
