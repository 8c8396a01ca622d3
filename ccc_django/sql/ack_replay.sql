-- ack_replay: a dead letter that was delivered again is out of hand; the partition stands where it stood.
UPDATE ccc_offsets SET
    replays = greatest(replays - 1, 0),
    next_position = CASE WHEN head_position > last_position OR replays > 1 THEN last_position + 1 END,
    blocked_until = NULL, claimed_by = '', claimed_at = NULL, token = 0, attempts = greatest(attempts - 1, 0)
WHERE id = (SELECT %(id)s::bigint) AND token = (SELECT %(token)s::bigint)
  AND (SELECT %(epoch)s::int) = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = group_id)
RETURNING next_position
