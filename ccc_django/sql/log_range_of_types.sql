-- log_range_of_types: the same of some types, each found in its own part of an index, and of some topics.
-- include: log_columns
FROM (SELECT DISTINCT name FROM jsonb_array_elements_text(%(types)s::jsonb) AS given(name)) AS wanted
CROSS JOIN LATERAL (
    SELECT *
    FROM ccc_messages AS row
    WHERE (row.message_type, row.position) > (wanted.name, (SELECT %(after)s::bigint))  -- no other index has both
      AND (row.message_type, row.position) <= (wanted.name, (SELECT %(upto)s::bigint))
    ORDER BY row.message_type, row.position
    OFFSET 0
) AS message
WHERE message.appended_at BETWEEN (SELECT %(since)s::timestamptz) AND (SELECT %(until)s::timestamptz)
  AND (
      (SELECT %(topics)s) = '' OR message.topic = ANY (
          (SELECT array_agg(name) FROM jsonb_array_elements_text(nullif(%(topics)s, '')::jsonb) AS given(name))::text[]
      )
  )
