found AS MATERIALIZED (
    SELECT DISTINCT entry.position
    FROM driver
    CROSS JOIN LATERAL unnest(driver.pairs) AS wanted(pair)
    CROSS JOIN LATERAL (
        SELECT entry.position FROM ccc_message_key_pairs AS entry
-- include: belongs
        ORDER BY entry.position DESC
        LIMIT (SELECT %(most)s::bigint)
    ) AS entry
    ORDER BY position DESC
    LIMIT (SELECT %(most)s::bigint)
)
SELECT
    message.position, message.message_id, message.message_type, message.version, message.topic, message.payload::text,
    message.metadata::text, message.correlation_id, message.causation_id, message.created_at::text, message.appended_at::text
FROM found
CROSS JOIN LATERAL (
    SELECT * FROM ccc_messages AS row WHERE row.position = found.position OFFSET 0  -- a fence: by key, never by a scan
) AS message
ORDER BY message.position DESC
