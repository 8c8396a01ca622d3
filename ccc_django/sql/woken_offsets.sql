-- woken_offsets: partitions that have all the values of a message that names them in part.
SELECT found.offset_id, mark.low, mark.high
FROM unnest(
    (SELECT %(pairs)s::text[]), (SELECT %(lows)s::bigint[]), (SELECT %(highs)s::bigint[]), (SELECT %(afters)s::bigint[])
) AS mark(pairs, low, high, after)
CROSS JOIN LATERAL (  -- the value of the fewest partitions drives, the others confirm
    SELECT wanted.pair
    FROM unnest(mark.pairs::uuid[]) AS wanted(pair)
    CROSS JOIN LATERAL (
        SELECT count(*) AS partitions
        FROM (
            SELECT FROM ccc_offset_key_pairs AS named
            WHERE named.group_id = (SELECT %(group)s::bigint) AND named.key_pair = wanted.pair
              AND position(',' IN mark.pairs) > 0
            LIMIT 8192
        ) AS named
    ) AS counted
    ORDER BY counted.partitions
    LIMIT 1
) AS driver
CROSS JOIN LATERAL (
    SELECT named.offset_id
    FROM ccc_offset_key_pairs AS named
    WHERE named.group_id = (SELECT %(group)s::bigint) AND named.key_pair = driver.pair AND named.offset_id > mark.after
      AND NOT EXISTS (
          SELECT FROM unnest(mark.pairs::uuid[]) AS other(pair)
          WHERE other.pair <> driver.pair AND NOT EXISTS (
              SELECT FROM ccc_offset_key_pairs AS confirmed
              WHERE confirmed.group_id = named.group_id AND confirmed.key_pair = other.pair
                AND confirmed.offset_id = named.offset_id
          )
      )
    ORDER BY named.offset_id
    LIMIT (SELECT %(most)s::int)
) AS found
LIMIT (SELECT %(most)s::int)
