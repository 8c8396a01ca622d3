-- first_of_topic: the first message of a topic behind a position.
SELECT position, appended_at || '+00:00'
FROM ccc_messages
WHERE topic = %(topic)s AND position > %(after)s
ORDER BY position
LIMIT 1
