found AS MATERIALIZED (
    SELECT DISTINCT entry.position
    FROM driver
    CROSS JOIN LATERAL unnest(driver.pairs) AS wanted(pair)
    CROSS JOIN LATERAL (
        SELECT entry.position FROM ccc_message_key_pairs AS entry
-- include: belongs
        ORDER BY entry.position
        LIMIT (SELECT %(most)s::bigint)
    ) AS entry
    ORDER BY position
    LIMIT (SELECT %(most)s::bigint)
)
