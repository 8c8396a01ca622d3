-- group_status: where a group stands, read in one statement, so that its figures belong together.
WITH known AS MATERIALIZED (
    SELECT * FROM ccc_consumer_groups WHERE name = %(name)s
), work AS MATERIALIZED (
    SELECT
        min(next_position) AS lowest,
        count(*) AS partitions,
        count(next_position) AS pending,
        count(*) FILTER (
            WHERE claimed_by <> '' AND blocked_until > strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')
        ) AS claims,
        count(*) FILTER (WHERE error <> '') AS failures
    FROM ccc_offsets AS partition
    WHERE partition.group_id = (SELECT id FROM known)
)
SELECT
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
FROM known, work
