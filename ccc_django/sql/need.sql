-- Pairs are unnested and probed one by one: given a list, and no statistics, the planner would rather scan the log.
need AS MATERIALIZED (  -- for each shape that can meet a choice: its parts, with the values that meet them
    SELECT
        shape.digest AS shape, wanted.choice, wanted.part, array_agg(wanted.pair) AS pairs, wanted.needed,
        count(*) OVER (PARTITION BY shape.digest, wanted.choice) AS present
    FROM unnest(
        (SELECT %(choices)s::int[]), (SELECT %(types)s::text[]), (SELECT %(parts)s::int[]), (SELECT %(names)s::text[]),
        (SELECT %(pairs)s::uuid[]), (SELECT %(needed)s::int[]), (SELECT %(anywhere)s::boolean[])
    ) AS wanted(choice, type, part, name, pair, needed, anywhere)
    CROSS JOIN LATERAL unnest(ARRAY(  -- an array, so that the planner never thinks of many, and compiles
        SELECT digest FROM ccc_shapes WHERE message_type = wanted.type AND (wanted.anywhere OR names ? wanted.name)
        UNION ALL
        SELECT digest FROM ccc_shapes WHERE wanted.type = '' AND (wanted.anywhere OR names ? wanted.name)
    )) AS shape(digest)
    GROUP BY shape.digest, wanted.choice, wanted.part, wanted.needed
), counted AS (
    SELECT need.*, few.entries, min(few.entries) OVER (PARTITION BY need.shape, need.choice) AS fewest
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
    ) AS few
    WHERE need.present >= need.needed
), driver AS MATERIALIZED (  -- for each of them: the part with the fewest entries, which the others confirm
    SELECT DISTINCT ON (counted.shape, counted.choice) counted.shape, counted.choice, counted.part, counted.pairs
    FROM counted
    ORDER BY counted.shape, counted.choice, counted.entries, CASE
        WHEN counted.fewest < 64 THEN 0
        ELSE (  -- all have many: which has very many
            SELECT count(*)
            FROM (
                SELECT
                FROM unnest(counted.pairs) AS wanted(pair)
                CROSS JOIN LATERAL (
                    SELECT FROM ccc_message_key_pairs AS entry
                    WHERE entry.key_pair = wanted.pair AND entry.shape = counted.shape
                      AND entry.position > (SELECT %(after)s::bigint) AND entry.position <= (SELECT %(upto)s::bigint)
                    LIMIT 8192
                ) AS entry
                LIMIT 8192
            ) AS entry
        )
    END
)
