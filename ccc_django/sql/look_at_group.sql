-- look_at_group: whether a group is there and active, whether the log has grown, and whether anything waits to be claimed.
-- Takes no lock, so that polling costs nobody anything.
SELECT
    known.status = 'active' OR coalesce(known.retry_at <= statement_timestamp(), false),
    (SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM ccc_messages_position_seq) > known.watermark,
    EXISTS (
        SELECT FROM ccc_offsets AS ready
        WHERE ready.group_id = known.id AND ready.next_position IS NOT NULL AND ready.blocked_until IS NULL
    ) OR EXISTS (
        SELECT FROM ccc_offsets AS late
        WHERE late.group_id = known.id AND late.next_position IS NOT NULL
          AND late.blocked_until <= statement_timestamp()
    )
FROM ccc_consumer_groups AS known
WHERE known.name = (SELECT %(name)s::text)
