-- positions_of_topic: where the next messages of a topic are, and whether the group handles them.
SELECT position, %(every)s OR message_type IN (SELECT value FROM json_each(%(types)s))
FROM ccc_messages
WHERE topic = %(topic)s AND position > %(after)s AND position <= %(upto)s
ORDER BY position
LIMIT %(most)s
