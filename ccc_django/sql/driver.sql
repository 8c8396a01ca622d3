first AS MATERIALIZED (  -- for each shape and choice: the part with the fewest entries, counted up to a few
    SELECT DISTINCT ON (need.shape, need.choice) need.shape, need.choice, need.part, need.pairs, counted.entries
    FROM need
    CROSS JOIN LATERAL (
        SELECT count(*) AS entries
        FROM (
            SELECT
            FROM unnest(need.pairs) AS wanted(pair)
            CROSS JOIN LATERAL (
                SELECT FROM ccc_message_key_pairs AS entry
                WHERE entry.key_pair = wanted.pair AND entry.shape = need.shape
                  AND entry.position > (SELECT %(after)s::bigint) AND entry.position <= (SELECT %(upto)s::bigint)
                LIMIT 64
            ) AS entry
            LIMIT 64
        ) AS entry
    ) AS counted
    ORDER BY need.shape, need.choice, counted.entries
), driver AS MATERIALIZED (  -- what the others confirm; where all have many, counted further, and then the most scattered
    SELECT first.shape, first.choice, best.part, best.pairs
    FROM first
    CROSS JOIN LATERAL (
        SELECT first.part, first.pairs WHERE first.entries < 64
        UNION ALL
        (
            SELECT need.part, need.pairs
            FROM need
            CROSS JOIN LATERAL (
                SELECT count(*) AS entries, max(entry.position) AS reached
                FROM (
                    SELECT entry.position
                    FROM unnest(need.pairs) AS wanted(pair)
                    CROSS JOIN LATERAL (
                        SELECT entry.position FROM ccc_message_key_pairs AS entry
                        WHERE entry.key_pair = wanted.pair AND entry.shape = need.shape
                          AND entry.position > (SELECT %(after)s::bigint) AND entry.position <= (SELECT %(upto)s::bigint)
                        ORDER BY entry.position
                        LIMIT 256
                    ) AS entry
                    LIMIT 256
                ) AS entry
            ) AS counted
            WHERE first.entries >= 64 AND need.shape = first.shape AND need.choice = first.choice
            ORDER BY counted.entries, counted.reached DESC
            LIMIT 1
        )
    ) AS best
)
