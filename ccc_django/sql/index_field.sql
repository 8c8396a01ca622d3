-- index_field: entries of one field for a range of old messages.
WITH carried AS MATERIALIZED (
    SELECT DISTINCT message.position, message.message_type, canonical.text
    FROM ccc_messages AS message
    CROSS JOIN LATERAL jsonb_path_query(message.payload, ((SELECT %(paths)s::text[])[1])::jsonpath) AS found(value)
    CROSS JOIN LATERAL (
        SELECT
-- include: canonical
        AS text
    ) AS canonical
    WHERE message.position > (SELECT %(after)s::bigint) AND message.position <= (SELECT %(upto)s::bigint)
      AND canonical.text IS NOT NULL
),
-- include: index_pairs
