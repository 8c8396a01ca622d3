-- foreseen_loss: between which positions messages of a range will be pruned that a group handles and has not done.
SELECT min(message.position), max(message.position)
FROM ccc_messages AS message
WHERE message.topic = (SELECT %(topic)s::text)
  AND message.position > (SELECT %(after)s::bigint) AND message.position <= (SELECT %(upto)s::bigint)
  AND message.position >= (SELECT %(first)s::bigint)
  AND ((SELECT %(every)s::boolean) OR message.message_type = ANY ((SELECT %(types)s)::text[]))
  AND
-- include: is_prunable
