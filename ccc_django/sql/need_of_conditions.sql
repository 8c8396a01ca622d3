-- The same as need, for conditions alone, which is what most guards are: fewer steps, because starting them is the cost.
need AS MATERIALIZED (
    SELECT shape.digest AS shape, wanted.choice, wanted.part, array_agg(wanted.pair) AS pairs
    FROM unnest(
        (SELECT %(choices)s::int[]), (SELECT %(types)s::text[]), (SELECT %(parts)s::int[]), (SELECT %(names)s::text[]),
        (SELECT %(pairs)s::uuid[])
    ) AS wanted(choice, type, part, name, pair)
    JOIN ccc_shapes AS shape ON shape.message_type = wanted.type AND shape.names ? wanted.name
    GROUP BY shape.digest, wanted.choice, wanted.part
), driver AS MATERIALIZED (
    SELECT DISTINCT ON (need.shape, need.choice) need.shape, need.choice, need.part, need.pairs
    FROM need
    CROSS JOIN LATERAL (
        SELECT count(*) AS entries
        FROM unnest(need.pairs) AS wanted(pair)
        CROSS JOIN LATERAL (
            SELECT FROM ccc_message_key_pairs AS entry
            WHERE entry.key_pair = wanted.pair AND entry.shape = need.shape
              AND entry.position > (SELECT %(after)s::bigint) AND entry.position <= (SELECT %(upto)s::bigint)
            LIMIT 64
        ) AS few
    ) AS counted
    ORDER BY need.shape, need.choice, counted.entries
)
