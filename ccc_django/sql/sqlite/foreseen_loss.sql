-- foreseen_loss: between which positions messages of a range will be pruned that a group handles and has not done.
SELECT min(message.position), max(message.position)
FROM ccc_messages AS message
WHERE message.topic = %(topic)s AND message.position > %(after)s AND message.position <= %(upto)s AND message.position >= %(first)s
  AND (%(every)s OR message.message_type IN (SELECT value FROM json_each(%(types)s)))
  AND
-- include: is_prunable
