-- rank_by_entries: lists of values, the one that the fewest messages of a shape carry first, counted up to a limit.
-- Of those with as many, the most scattered: its last that was counted is furthest.
SELECT value, entries
FROM (
    SELECT need.value, (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM json_each(need.value) AS pair CROSS JOIN ccc_message_key_pairs AS entry
            WHERE entry.key_pair = unhex(pair.value) AND entry.shape = %(shape)s
              AND entry.position > %(after)s AND entry.position <= %(upto)s
            LIMIT %(limit)s
        )
    ) AS entries, (
        SELECT max(position)
        FROM (
            SELECT entry.position
            FROM json_each(need.value) AS pair CROSS JOIN ccc_message_key_pairs AS entry
            WHERE entry.key_pair = unhex(pair.value) AND entry.shape = %(shape)s
              AND entry.position > %(after)s AND entry.position <= %(upto)s
            LIMIT %(limit)s
        )
    ) AS reached
    FROM json_each(%(needs)s) AS need
)
ORDER BY entries, reached DESC
