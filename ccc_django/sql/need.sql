-- Pairs are unnested and probed one by one: given a list, and no statistics, the planner would rather scan the log.
possible AS MATERIALIZED (  -- for each shape: the parts of choices that it can meet, with the values that meet them
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
), need AS MATERIALIZED (  -- of those choices all of whose parts it can meet
    SELECT shape, choice, part, pairs FROM possible WHERE present >= needed
),
-- include: driver
