-- index_messages: entries of a field, or of several together, for a range of old messages.
-- Up to four single values are told by plain expressions; whoever holds lists, or more, is looked at closely.
WITH RECURSIVE message AS MATERIALIZED (
    SELECT stored.position, stored.message_type, plain.text, CASE WHEN plain.text IS NULL THEN stored.payload END AS payload
    FROM ccc_messages AS stored
    CROSS JOIN LATERAL (
        SELECT
            stored.payload #> (SELECT %(path_1)s::text[]) AS one, stored.payload #> (SELECT %(path_2)s::text[]) AS two,
            stored.payload #> (SELECT %(path_3)s::text[]) AS three, stored.payload #> (SELECT %(path_4)s::text[]) AS four
        OFFSET 0  -- a fence: taken out once
    ) AS value
    CROSS JOIN LATERAL (
        SELECT
            CASE jsonb_typeof(value.one)
                WHEN 'string' THEN 's:' || (value.one #>> '{}')
                WHEN 'boolean' THEN 'b:' || value.one::text
                WHEN 'number' THEN CASE WHEN strpos(value.one::text, '.') > 0 THEN 'f:' ELSE 'i:' END || value.one::text
                WHEN 'null' THEN CASE WHEN (SELECT %(nulls)s::boolean) THEN 'n:null' END
            END AS one,
            CASE jsonb_typeof(value.two)
                WHEN 'string' THEN 's:' || (value.two #>> '{}')
                WHEN 'boolean' THEN 'b:' || value.two::text
                WHEN 'number' THEN CASE WHEN strpos(value.two::text, '.') > 0 THEN 'f:' ELSE 'i:' END || value.two::text
                WHEN 'null' THEN CASE WHEN (SELECT %(nulls)s::boolean) THEN 'n:null' END
            END AS two,
            CASE jsonb_typeof(value.three)
                WHEN 'string' THEN 's:' || (value.three #>> '{}')
                WHEN 'boolean' THEN 'b:' || value.three::text
                WHEN 'number' THEN CASE WHEN strpos(value.three::text, '.') > 0 THEN 'f:' ELSE 'i:' END || value.three::text
                WHEN 'null' THEN CASE WHEN (SELECT %(nulls)s::boolean) THEN 'n:null' END
            END AS three,
            CASE jsonb_typeof(value.four)
                WHEN 'string' THEN 's:' || (value.four #>> '{}')
                WHEN 'boolean' THEN 'b:' || value.four::text
                WHEN 'number' THEN CASE WHEN strpos(value.four::text, '.') > 0 THEN 'f:' ELSE 'i:' END || value.four::text
                WHEN 'null' THEN CASE WHEN (SELECT %(nulls)s::boolean) THEN 'n:null' END
            END AS four
        OFFSET 0
    ) AS canonical
    CROSS JOIN LATERAL (
        SELECT CASE (SELECT cardinality(%(paths)s::jsonpath[]))
            WHEN 1 THEN canonical.one
            WHEN 2 THEN octet_length(canonical.one) || ':' || canonical.one || octet_length(canonical.two) || ':' || canonical.two
            WHEN 3 THEN octet_length(canonical.one) || ':' || canonical.one || octet_length(canonical.two) || ':' || canonical.two
                || octet_length(canonical.three) || ':' || canonical.three
            WHEN 4 THEN octet_length(canonical.one) || ':' || canonical.one || octet_length(canonical.two) || ':' || canonical.two
                || octet_length(canonical.three) || ':' || canonical.three || octet_length(canonical.four) || ':' || canonical.four
        END AS text
    ) AS plain
    WHERE stored.position > (SELECT %(after)s::bigint) AND stored.position <= (SELECT %(upto)s::bigint)
      AND stored.payload ?& (SELECT %(first_names)s::text[])
      AND stored.message_type <> ALL ((SELECT %(left_out)s::text[])::text[])  -- they call it sensitive
), lists AS MATERIALIZED (
    SELECT message.position, message.message_type, every.texts
    FROM message
    CROSS JOIN LATERAL (
        SELECT jsonb_agg(field.texts ORDER BY path.n) AS texts, count(field.texts) AS fields
        FROM unnest((SELECT %(paths)s::jsonpath[])) WITH ORDINALITY AS path(json, n)
        CROSS JOIN LATERAL (
            SELECT array_agg(DISTINCT canonical.text) AS texts
            FROM jsonb_path_query(message.payload, path.json) AS found(value)
            CROSS JOIN LATERAL (SELECT CASE jsonb_typeof(found.value)
                    WHEN 'string' THEN 's:' || (found.value #>> '{}')
                    WHEN 'boolean' THEN 'b:' || found.value::text
                    WHEN 'number' THEN CASE WHEN strpos(found.value::text, '.') > 0 THEN 'f:' ELSE 'i:' END || found.value::text
                    WHEN 'null' THEN CASE WHEN (SELECT %(nulls)s::boolean) THEN 'n:null' END
                END AS text) AS canonical
            WHERE canonical.text IS NOT NULL
        ) AS field
    ) AS every
    WHERE message.text IS NULL AND every.fields = (SELECT cardinality(%(paths)s::jsonpath[]))
), carried AS MATERIALIZED (
    SELECT position, message_type, text FROM message WHERE text IS NOT NULL
    UNION ALL
    SELECT lists.position, lists.message_type, several.text
    FROM lists
    CROSS JOIN LATERAL (  -- every combination of their values
        WITH RECURSIVE product(n, text) AS (
            SELECT 0, ''
            UNION ALL
            SELECT product.n + 1, CASE jsonb_array_length(lists.texts)
                WHEN 1 THEN one.text
                ELSE concat(product.text, octet_length(one.text), ':', one.text)
            END
            FROM product
            CROSS JOIN LATERAL jsonb_array_elements_text(lists.texts -> product.n) AS one(text)
            WHERE product.n < jsonb_array_length(lists.texts)
        )
        SELECT product.text FROM product WHERE product.n = jsonb_array_length(lists.texts)
    ) AS several
), pair AS MATERIALIZED (  -- ids as hex_digest() makes them, and the shape that a message's other entries have
    SELECT
        carried.position, carried.message_type, carried.text, own.shape,
        encode(substring(sha256(convert_to(
            (SELECT %(prefix)s::text) || octet_length(carried.text) || ':' || carried.text, 'UTF8'
        )) FROM 1 FOR 16), 'hex')::uuid AS digest
    FROM carried
    LEFT JOIN LATERAL (SELECT shape FROM ccc_message_key_pairs WHERE position = carried.position LIMIT 1) AS own ON true
), named AS (
    INSERT INTO ccc_key_pairs (digest, name, value)
    SELECT new.digest, (SELECT %(name)s::text), new.text
    FROM (SELECT digest, min(text) AS text FROM pair GROUP BY digest) AS new
    CROSS JOIN LATERAL (SELECT count(*) FROM ccc_key_pairs AS key_pair WHERE key_pair.digest = new.digest) AS known(times)
    WHERE known.times = 0
), bare AS MATERIALIZED (  -- messages without any other entry have the shape of their type alone
    SELECT DISTINCT message_type, (
        'x' || encode(sha256(convert_to(concat(octet_length(message_type), ':', message_type), 'UTF8')), 'hex')
    )::bit(64)::bigint >> 1 & 9223372036854775807 AS shape
    FROM pair
    WHERE shape IS NULL
), shaped AS (
    INSERT INTO ccc_shapes (digest, message_type, names)
    SELECT bare.shape, bare.message_type, '[]'
    FROM bare
    CROSS JOIN LATERAL (SELECT count(*) FROM ccc_shapes AS stored WHERE stored.digest = bare.shape) AS known(times)
    WHERE known.times = 0
)
INSERT INTO ccc_message_key_pairs (key_pair, shape, position)
SELECT pair.digest, coalesce(pair.shape, (SELECT bare.shape FROM bare WHERE bare.message_type = pair.message_type)), pair.position
FROM pair
ORDER BY pair.digest  -- neighbours in the index, one after another
ON CONFLICT DO NOTHING  -- whoever knew the index has written it; old messages are final, and nobody waits for another
