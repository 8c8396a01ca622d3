-- positions_of_type: where the next messages of a type are.
SELECT position
FROM ccc_messages
WHERE message_type = %(type)s AND position > %(after)s AND position <= %(upto)s
ORDER BY position
LIMIT %(most)s
