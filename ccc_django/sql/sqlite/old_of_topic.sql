-- old_of_topic: the next messages of a topic up to a position: the first and the last of them, how many they are, how many of them are old,
-- and the first that is not.
SELECT min(position), max(position), count(*), count(*) FILTER (WHERE is_old), min(position) FILTER (WHERE NOT is_old)
FROM (
    SELECT position, appended_at < strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %(age)s) AS is_old
    FROM ccc_messages
    WHERE topic = %(topic)s AND position > %(after)s AND position <= %(upto)s
    ORDER BY position
    LIMIT %(most)s
)
