-- prune_messages: delete a range of a topic's messages that are old, but for types that are kept, dead letters, and what
-- partitions to come need; where they were.
DELETE FROM ccc_messages AS message
WHERE message.topic = %(topic)s AND message.position > %(after)s AND message.position <= %(upto)s
  AND
-- include: is_prunable
RETURNING position
