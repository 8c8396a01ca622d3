-- old_of_topic: the next messages of a topic up to a position: the first and the last of them, how many they are, how many of them are old,
-- and the first that is not.
SELECT min(position), max(position), count(*), count(*) FILTER (WHERE is_old), min(position) FILTER (WHERE NOT is_old)
FROM (
    SELECT position, appended_at < statement_timestamp() - (SELECT %(age)s::float8) * interval '1 second' AS is_old
    FROM ccc_messages
    WHERE (topic, position) > ((SELECT %(topic)s::text), (SELECT %(after)s::bigint))
      AND (topic, position) <= ((SELECT %(topic)s::text), (SELECT %(upto)s::bigint))
    ORDER BY topic, position  -- only the index on both has this order
    LIMIT (SELECT %(most)s::int)
) AS next
