conflict AS MATERIALIZED (
    SELECT entry.position
    FROM driver
    CROSS JOIN LATERAL unnest(driver.pairs) AS wanted(pair)
    CROSS JOIN LATERAL (
        SELECT entry.position FROM ccc_message_key_pairs AS entry
-- include: belongs
          AND entry.position <> ALL ((SELECT %(seen)s)::bigint[])
        ORDER BY entry.position
        LIMIT (SELECT %(most)s::int)
    ) AS entry
)
