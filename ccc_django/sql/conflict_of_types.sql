conflict AS MATERIALIZED (  -- constant limits: an unknown one is taken for a tenth of the log, and would be compiled
    SELECT entry.position
    FROM driver
    CROSS JOIN LATERAL unnest(driver.pairs) AS wanted(pair)
    CROSS JOIN LATERAL (
        SELECT entry.position FROM ccc_message_key_pairs AS entry
-- include: belongs
          AND entry.position <> ALL ((SELECT %(seen)s)::bigint[])
        LIMIT 1
    ) AS entry
    UNION ALL
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
)
