-- The same as need, for a partition: its values, for each shape of a handled type that carries them.
need AS MATERIALIZED (
    SELECT DISTINCT shape.digest AS shape, 1 AS choice, wanted.part, ARRAY[wanted.pair] AS pairs
    FROM unnest((SELECT %(types)s::text[])) AS handled(type)
    CROSS JOIN LATERAL (
        SELECT digest, names FROM ccc_shapes WHERE message_type = handled.type OFFSET 0
    ) AS shape
    CROSS JOIN unnest((SELECT %(names)s::text[]), (SELECT %(pairs)s::uuid[])) WITH ORDINALITY AS wanted(name, pair, part)
    WHERE shape.names ? wanted.name
),
-- include: driver
