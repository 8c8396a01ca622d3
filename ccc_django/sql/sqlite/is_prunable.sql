-- is_prunable: whether a message of a range is old, and neither of a type that is kept, nor a dead letter, nor needed by a partition to come.
message.appended_at < strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %(age)s)
  AND message.message_type NOT IN (SELECT value FROM json_each(%(kept_types)s))
  AND NOT EXISTS (
      SELECT 1 FROM ccc_dead_letters AS letter
      WHERE letter.position = message.position AND letter.status IN ('open', 'replaying', 'coming')
  )
  AND NOT (
      json_array_length(%(kept_shapes)s) > 0
      AND message.appended_at >= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %(partial_age)s)
      AND EXISTS (
          SELECT 1 FROM ccc_message_key_pairs AS entry
          WHERE entry.position = message.position AND entry.shape IN (SELECT value FROM json_each(%(kept_shapes)s))
      )
  )
