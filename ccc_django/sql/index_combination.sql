-- index_combination: entries of several fields together for a range of old messages; lists give every combination.
WITH RECURSIVE lists AS MATERIALIZED (
    SELECT message.position, message.message_type, every.texts, every.widest
    FROM ccc_messages AS message
    CROSS JOIN LATERAL (
        SELECT jsonb_agg(field.texts ORDER BY path.n) AS texts, max(cardinality(field.texts)) AS widest, count(field.texts) AS fields
        FROM unnest((SELECT %(paths)s::text[])) WITH ORDINALITY AS path(text, n)
        CROSS JOIN LATERAL (
            SELECT array_agg(DISTINCT canonical.text) AS texts
            FROM jsonb_path_query(message.payload, path.text::jsonpath) AS found(value)
            CROSS JOIN LATERAL (
                SELECT
-- include: canonical
                AS text
            ) AS canonical
            WHERE canonical.text IS NOT NULL
        ) AS field
    ) AS every
    WHERE message.position > (SELECT %(after)s::bigint) AND message.position <= (SELECT %(upto)s::bigint)
      AND every.fields = cardinality((SELECT %(paths)s::text[]))
), carried AS MATERIALIZED (
    SELECT lists.position, lists.message_type, single.text
    FROM lists
    CROSS JOIN LATERAL (
        SELECT string_agg(concat(octet_length(one.texts ->> 0), ':', one.texts ->> 0), '' ORDER BY one.n) AS text
        FROM jsonb_array_elements(lists.texts) WITH ORDINALITY AS one(texts, n)
    ) AS single
    WHERE lists.widest = 1
    UNION ALL
    SELECT lists.position, lists.message_type, several.text
    FROM lists
    CROSS JOIN LATERAL (
        WITH RECURSIVE product(n, text) AS (
            SELECT 0, ''
            UNION ALL
            SELECT product.n + 1, concat(product.text, octet_length(one.text), ':', one.text)
            FROM product
            CROSS JOIN LATERAL jsonb_array_elements_text(lists.texts -> product.n) AS one(text)
            WHERE product.n < jsonb_array_length(lists.texts)
        )
        SELECT product.text FROM product WHERE product.n = jsonb_array_length(lists.texts)
    ) AS several
    WHERE lists.widest > 1
),
-- include: index_pairs
