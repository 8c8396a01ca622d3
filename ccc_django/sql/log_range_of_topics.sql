-- log_range_of_topics: the same of some topics, whatever their type.
-- include: log_columns
FROM (SELECT DISTINCT name FROM jsonb_array_elements_text(%(topics)s::jsonb) AS given(name)) AS wanted
CROSS JOIN LATERAL (
    SELECT *
    FROM ccc_messages AS row
    WHERE (row.topic, row.position) > (wanted.name, (SELECT %(after)s::bigint))  -- no other index has both
      AND (row.topic, row.position) <= (wanted.name, (SELECT %(upto)s::bigint))
    ORDER BY row.topic, row.position
    OFFSET 0
) AS message
WHERE message.appended_at BETWEEN (SELECT %(since)s::timestamptz) AND (SELECT %(until)s::timestamptz)
