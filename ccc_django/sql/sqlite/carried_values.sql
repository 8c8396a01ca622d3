-- carried_values: the next messages of the log, with the values that partitions are made of.
SELECT batch.position, batch.message_type, entry.key_pair, pair.name, pair.value
FROM (
    SELECT position, message_type
    FROM ccc_messages
    WHERE position > %(after)s AND position <= %(upto)s
    ORDER BY position
    LIMIT %(most)s
) AS batch
LEFT JOIN ccc_message_key_pairs AS entry ON entry.position = batch.position
LEFT JOIN ccc_key_pairs AS pair
    ON pair.digest = entry.key_pair AND pair.name IN (SELECT value FROM json_each(%(names)s))
ORDER BY batch.position
