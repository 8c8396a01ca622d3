-- foreseen_loss: between which positions messages of a range will be pruned that a group handles and has not done; and those
-- that partitions to come would need. What a shared group has done has no delivery any more.
SELECT min(message.position), max(message.position)
FROM ccc_messages AS message
WHERE message.topic = (SELECT %(topic)s::text)
  AND message.position > (SELECT %(after)s::bigint) AND message.position <= (SELECT %(upto)s::bigint)
  AND ((SELECT %(every)s::boolean) OR message.message_type = ANY ((SELECT %(types)s)::text[]))
  AND CASE
      WHEN message.position >= (SELECT %(first)s::bigint) THEN
          NOT (SELECT %(is_shared)s::boolean) OR message.position > (SELECT %(watermark)s::bigint) OR (
              SELECT count(*) FROM ccc_deliveries AS delivery
              WHERE delivery.group_topic_id = (SELECT %(place)s::bigint) AND delivery.position = message.position
          ) > 0
      WHEN (SELECT cardinality((SELECT %(shapes)s)::bigint[])) > 0 THEN (
          SELECT count(*) FROM ccc_message_key_pairs AS entry
          WHERE entry.position = message.position AND entry.shape = ANY ((SELECT %(shapes)s)::bigint[])
      ) > 0
      ELSE false
  END
  AND
-- include: is_prunable
