-- group_status: where groups stand, some or all of them, read in one statement, so that their figures belong together.
WITH known AS MATERIALIZED (
    SELECT * FROM ccc_consumer_groups
    WHERE kind = 'ordered' AND (%(every)s OR name IN (SELECT value FROM json_each(%(names)s)))
), work AS MATERIALIZED (
    SELECT
        known.id AS group_id,
        min(partition.next_position) AS lowest,
        count(partition.id) AS partitions,
        count(partition.next_position) AS pending,
        count(*) FILTER (
            WHERE partition.claimed_by <> '' AND partition.blocked_until > strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')
        ) AS claims,
        count(*) FILTER (WHERE partition.error <> '') AS failures
    FROM known
    LEFT JOIN ccc_offsets AS partition ON partition.group_id = known.id
    GROUP BY known.id
)
SELECT
    known.name, known.kind,
    CASE WHEN known.retry_at <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now') THEN 'active' ELSE known.status END,
    known.error_context, known.watermark, work.lowest, work.partitions, work.pending, work.claims, work.failures,
    (SELECT count(*) FROM ccc_dead_letters AS letter WHERE letter.group_id = known.id AND letter.status = 'open'),
    (
        SELECT (julianday('now') - julianday(message.appended_at)) * 86400.0
        FROM ccc_messages AS message
        WHERE message.position >= min(coalesce(work.lowest, known.watermark + 1), known.watermark + 1)
        ORDER BY message.position
        LIMIT 1
    )
FROM known
CROSS JOIN work ON work.group_id = known.id
ORDER BY known.name
