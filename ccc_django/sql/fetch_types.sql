-- fetch_types: the next messages of some types, in the order of the log.
WITH found AS MATERIALIZED (
    SELECT entry.position
    FROM unnest((SELECT %(types)s::text[])) AS handled(type)
    CROSS JOIN LATERAL (
        SELECT message.position
        FROM ccc_messages AS message
        WHERE (message.message_type, message.position) > (handled.type, (SELECT %(after)s::bigint))
          AND (message.message_type, message.position) <= (handled.type, (SELECT %(upto)s::bigint))
        ORDER BY message.message_type, message.position  -- only the index on both has this order
        LIMIT (SELECT %(most)s::bigint)
    ) AS entry
    ORDER BY position
    LIMIT (SELECT %(most)s::bigint)
)
-- include: message_columns
