-- partial_ranges: for new offsets, the lowest and highest positions of what concerns them and came before.
SELECT id, min(low), max(high)
FROM (
    SELECT id, shape, max(low) AS low, min(high) AS high, count(low) AS met, count(*) AS needed
    FROM (
        SELECT known.id, json_extract(need.value, '$[0]') AS shape, (
            SELECT min(entry.position) FROM ccc_message_key_pairs AS entry
            WHERE entry.key_pair = unhex(json_extract(known.key_pairs, '$[' || (json_extract(need.value, '$[1]') - 1) || ']'))
              AND entry.shape = json_extract(need.value, '$[0]')
              AND entry.position > known.last_position AND entry.position <= %(upto)s
        ) AS low, (
            SELECT max(entry.position) FROM ccc_message_key_pairs AS entry
            WHERE entry.key_pair = unhex(json_extract(known.key_pairs, '$[' || (json_extract(need.value, '$[1]') - 1) || ']'))
              AND entry.shape = json_extract(need.value, '$[0]')
              AND entry.position > known.last_position AND entry.position <= %(upto)s
        ) AS high
        FROM json_each(%(ids)s) AS new
        CROSS JOIN ccc_offsets AS known ON known.id = new.value
        CROSS JOIN json_each(%(needs)s) AS need
    )
    GROUP BY id, shape
)
WHERE met = needed AND low <= high
GROUP BY id
