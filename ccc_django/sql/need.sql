-- Pairs are unnested and probed one by one: given a list, and no statistics, the planner would rather scan the log.
need AS MATERIALIZED (  -- for each shape: the attributes it carries that matter, with the values that match
    SELECT shape.digest AS shape, wanted.name, array_agg(wanted.pair) AS pairs
    FROM unnest((SELECT %(types)s::text[]), (SELECT %(names)s::text[]), (SELECT %(pairs)s::uuid[])) AS wanted(type, name, pair)
    JOIN ccc_shapes AS shape ON shape.message_type = wanted.type AND shape.names ? wanted.name
    GROUP BY shape.digest, wanted.name
), driver AS MATERIALIZED (  -- for each shape: the attribute with the fewest entries, which the others confirm
    SELECT DISTINCT ON (need.shape) need.shape, need.name, need.pairs
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
    ORDER BY need.shape, counted.entries
)
