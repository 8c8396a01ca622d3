-- foreseen_loss: between which positions messages of a range will be pruned that a group handles and has not done; and those
-- that partitions to come would need. What a shared group has done has no delivery any more.
SELECT min(message.position), max(message.position)
FROM ccc_messages AS message
WHERE message.topic = %(topic)s AND message.position > %(after)s AND message.position <= %(upto)s
  AND (%(every)s OR message.message_type IN (SELECT value FROM json_each(%(types)s)))
  AND CASE
      WHEN message.position >= %(first)s THEN
          NOT %(is_shared)s OR message.position > %(watermark)s OR EXISTS (
              SELECT 1 FROM ccc_deliveries AS delivery
              WHERE delivery.group_topic_id = %(place)s AND delivery.position = message.position
          )
      ELSE EXISTS (
          SELECT 1 FROM ccc_message_key_pairs AS entry
          WHERE entry.position = message.position AND entry.shape IN (SELECT value FROM json_each(%(shapes)s))
      )
  END
  AND
-- include: is_prunable
