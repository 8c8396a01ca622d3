-- ack_replay: a dead letter that was delivered again is out of hand; the partition stands where it stood.
UPDATE ccc_offsets SET
    replays = max(replays - 1, 0),
    next_position = CASE WHEN head_position > last_position OR replays > 1 THEN last_position + 1 END,
    blocked_until = NULL, claimed_by = '', claimed_at = NULL, token = 0, attempts = max(attempts - 1, 0)
WHERE id = %(id)s AND token = %(token)s
  AND %(epoch)s = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = group_id)
RETURNING next_position
