conflict_of_types AS MATERIALIZED (  -- a constant limit: an unknown one is taken for a tenth of the log, and compiled
    SELECT message.position
    FROM unnest((SELECT %(whole_types)s::text[])) AS whole(type)
    CROSS JOIN LATERAL (
        SELECT message.position FROM ccc_messages AS message
        WHERE (message.message_type, message.position) > (whole.type, (SELECT %(after)s::bigint))
          AND (message.message_type, message.position) <= (whole.type, (SELECT %(upto)s::bigint))
          AND message.position <> ALL ((SELECT %(seen)s)::bigint[])
        ORDER BY message.message_type, message.position  -- only the index on both has this order
        LIMIT 1
    ) AS message
    UNION ALL
    (
        SELECT message.position FROM ccc_messages AS message
        WHERE (SELECT %(everything)s::boolean)
          AND message.position > (SELECT %(after)s::bigint) AND message.position <= (SELECT %(upto)s::bigint)
          AND message.position <> ALL ((SELECT %(seen)s)::bigint[])
        ORDER BY message.position
        LIMIT 1
    )
)
