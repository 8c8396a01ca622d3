-- count_entries: how many messages of a shape carry one of these values, up to a few.
SELECT count(*)
FROM (
    SELECT 1
    FROM json_each(%(pairs)s) AS pair CROSS JOIN ccc_message_key_pairs AS entry
    WHERE entry.key_pair = unhex(pair.value) AND entry.shape = %(shape)s
      AND entry.position > %(after)s AND entry.position <= %(upto)s
    LIMIT 64
)
