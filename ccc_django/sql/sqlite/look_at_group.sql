-- look_at_group: whether a group is there and active, whether the log has grown, and whether anything waits to be claimed.
SELECT
    known.status = 'active' OR coalesce(known.retry_at <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'), 0),
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'ccc_messages'), 0) > known.watermark,
    known.watermark,
    EXISTS (
        SELECT 1 FROM ccc_offsets AS ready INDEXED BY ccc_offsets_ready
        WHERE ready.group_id = known.id AND ready.next_position IS NOT NULL AND ready.blocked_until IS NULL
    ) OR EXISTS (
        SELECT 1 FROM ccc_offsets AS late INDEXED BY ccc_offsets_blocked
        WHERE late.group_id = known.id AND late.next_position IS NOT NULL
          AND late.blocked_until <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')
    )
FROM ccc_consumer_groups AS known
WHERE known.name = %(name)s
