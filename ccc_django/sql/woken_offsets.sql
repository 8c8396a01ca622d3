-- woken_offsets: partitions that have all the values of a message that names them in part, in the order of their ids.
SELECT found.offset_id, min(mark.low), max(mark.high)
FROM unnest(
    (SELECT %(pairs)s::uuid[]), (SELECT %(others)s::text[]), (SELECT %(lows)s::bigint[]), (SELECT %(highs)s::bigint[])
) AS mark(pair, others, low, high)
CROSS JOIN LATERAL (
    SELECT named.offset_id
    FROM ccc_offset_key_pairs AS named
    WHERE named.group_id = (SELECT %(group)s::bigint) AND named.key_pair = mark.pair
      AND named.offset_id > (SELECT %(after)s::bigint)
      AND NOT EXISTS (
          SELECT FROM unnest(mark.others::uuid[]) AS other(pair)
          WHERE NOT EXISTS (
              SELECT FROM ccc_offset_key_pairs AS confirmed
              WHERE confirmed.group_id = named.group_id AND confirmed.key_pair = other.pair
                AND confirmed.offset_id = named.offset_id
          )
      )
    ORDER BY named.offset_id
    LIMIT (SELECT %(most)s::int)
) AS found
GROUP BY found.offset_id
ORDER BY found.offset_id
LIMIT (SELECT %(most)s::int)
