-- is_prunable: whether a message of a range is old, and neither of a type that is kept, nor a dead letter, nor needed by a partition to come.
message.appended_at < statement_timestamp() - (SELECT %(age)s::float8) * interval '1 second'
  AND message.message_type <> ALL ((SELECT %(kept_types)s)::text[])
  AND CASE
      WHEN (SELECT EXISTS (
          SELECT FROM ccc_dead_letters
          WHERE position > (SELECT %(after)s::bigint) AND position <= (SELECT %(upto)s::bigint)
            AND status IN ('open', 'replaying', 'coming')
      )) THEN (
          SELECT count(*) FROM ccc_dead_letters AS letter
          WHERE letter.position = message.position AND letter.status IN ('open', 'replaying', 'coming')
      ) = 0
      ELSE true
  END
  AND CASE
      WHEN (SELECT cardinality((SELECT %(kept_shapes)s)::bigint[])) > 0
          AND message.appended_at >= statement_timestamp() - (SELECT %(partial_age)s::float8) * interval '1 second'
      THEN (
          SELECT count(*) FROM ccc_message_key_pairs AS entry
          WHERE entry.position = message.position AND entry.shape = ANY ((SELECT %(kept_shapes)s)::bigint[])
      ) = 0
      ELSE true
  END
