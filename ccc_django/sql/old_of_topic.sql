-- old_of_topic: of a range of a topic's messages, whether any is old, and the first that is not.
SELECT count(*) FILTER (WHERE is_old) > 0, min(position) FILTER (WHERE NOT is_old)
FROM (
    SELECT position, appended_at < statement_timestamp() - (SELECT %(age)s::float8) * interval '1 second' AS is_old
    FROM ccc_messages
    WHERE topic = (SELECT %(topic)s::text)
      AND position > (SELECT %(after)s::bigint) AND position <= (SELECT %(upto)s::bigint)
) AS part
