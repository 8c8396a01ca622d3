-- conflicting_messages: what happened since a guard's reader looked.
WITH
-- include: need
,
-- include: conflict
SELECT message.position, message.message_type
FROM conflict JOIN ccc_messages AS message USING (position)
ORDER BY message.position
