-- partial_ranges: for new offsets, the lowest and highest positions of what concerns them and came before.
-- Bounds: of a shape with several of the attributes, the first match is not before the last of the first entries.
SELECT found.id, min(found.low), max(found.high)
FROM (
    SELECT new.id, need.shape, max(range.low) AS low, min(range.high) AS high, count(range.low) AS met, count(*) AS needed
    FROM unnest((SELECT %(ids)s::bigint[])) AS new(id)
    CROSS JOIN LATERAL (
        SELECT key_pairs, last_position FROM ccc_offsets WHERE ccc_offsets.id = new.id OFFSET 0
    ) AS known
    CROSS JOIN unnest((SELECT %(shapes)s::bigint[]), (SELECT %(numbers)s::int[])) AS need(shape, number)
    CROSS JOIN LATERAL (
        SELECT min(entry.position) AS low, max(entry.position) AS high
        FROM ccc_message_key_pairs AS entry
        WHERE entry.key_pair = known.key_pairs[need.number] AND entry.shape = need.shape
          AND entry.position > known.last_position AND entry.position <= (SELECT %(upto)s::bigint)
    ) AS range
    GROUP BY new.id, need.shape
) AS found
WHERE found.met = found.needed AND found.low <= found.high
GROUP BY found.id
