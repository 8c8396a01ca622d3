-- carried_values: the next messages of the log, with the values that partitions are made of.
SELECT batch.position, batch.message_type, entry.key_pair, pair.name, pair.value
FROM (
    SELECT position, message_type
    FROM ccc_messages
    WHERE position > %(after)s AND position <= %(upto)s
      AND (%(every)s OR message_type IN (SELECT value FROM json_each(%(types)s)))
      AND (%(topics)s IS NULL OR topic IN (SELECT value FROM json_each(%(topics)s)))
    ORDER BY position
    LIMIT %(most)s
) AS batch
LEFT JOIN ccc_message_key_pairs AS entry ON entry.position = batch.position
LEFT JOIN ccc_key_pairs AS pair
    ON pair.digest = entry.key_pair AND pair.name IN (SELECT value FROM json_each(%(names)s))
    AND EXISTS (  -- by the message's own class, as fetch and guard see it; not by an index that was declared
        SELECT 1 FROM ccc_shapes AS shape, json_each(shape.names) AS name
        WHERE shape.digest = entry.shape AND name.value = pair.name
    )
ORDER BY batch.position
