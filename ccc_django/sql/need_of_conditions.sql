-- The same as need, for conditions alone, which is what most guards are: fewer steps, because starting them is the cost.
need AS MATERIALIZED (
    SELECT shape.digest AS shape, wanted.choice, wanted.part, array_agg(wanted.pair) AS pairs
    FROM unnest(
        (SELECT %(choices)s::int[]), (SELECT %(types)s::text[]), (SELECT %(parts)s::int[]), (SELECT %(names)s::text[]),
        (SELECT %(pairs)s::uuid[])
    ) AS wanted(choice, type, part, name, pair)
    JOIN ccc_shapes AS shape ON shape.message_type = wanted.type AND shape.names ? wanted.name
    GROUP BY shape.digest, wanted.choice, wanted.part
),
-- include: driver
