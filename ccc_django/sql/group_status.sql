-- group_status: where groups stand, some or all of them, read in one statement, so that their figures belong together.
SELECT
    known.name, known.kind,
    CASE WHEN known.retry_at <= statement_timestamp() THEN 'active' ELSE known.status END,
    known.error_context, known.watermark, work.lowest, work.partitions, work.pending, work.claims, work.failures,
    (SELECT count(*) FROM ccc_dead_letters AS letter WHERE letter.group_id = known.id AND letter.status = 'open'),
    (
        SELECT extract(epoch FROM statement_timestamp() - message.appended_at)::float8
        FROM ccc_messages AS message
        WHERE message.position >= least(work.lowest, known.watermark + 1)
        ORDER BY message.position
        LIMIT 1
    )
FROM ccc_consumer_groups AS known
CROSS JOIN LATERAL (
    SELECT
        min(next_position) AS lowest,
        count(*) AS partitions,
        count(next_position) AS pending,
        count(*) FILTER (WHERE claimed_by <> '' AND blocked_until > statement_timestamp()) AS claims,
        count(*) FILTER (WHERE error <> '') AS failures
    FROM ccc_offsets AS partition
    WHERE partition.group_id = known.id
) AS work
WHERE known.kind = 'ordered' AND ((SELECT %(every)s::boolean) OR known.name = ANY ((SELECT %(names)s)::text[]))
ORDER BY known.name
