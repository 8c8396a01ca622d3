-- conflicting_messages: what happened since a guard's reader looked.
WITH
-- include: need
,
-- include: conflict
SELECT message.position, message.message_type
FROM conflict
CROSS JOIN LATERAL (
    SELECT * FROM ccc_messages AS row WHERE row.position = conflict.position OFFSET 0  -- a fence: by key, never by a scan
) AS message
ORDER BY message.position
