-- part_of_topic: the next messages of a topic up to a position: the first and the last of them, and how many they are.
SELECT min(position), max(position), count(*)
FROM (
    SELECT position
    FROM ccc_messages
    WHERE topic = %(topic)s AND position > %(after)s AND position <= %(upto)s
    ORDER BY position
    LIMIT %(most)s
)
