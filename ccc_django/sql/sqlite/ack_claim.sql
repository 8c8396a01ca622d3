-- ack_claim: progress, and give the partition back; whoever has lost the claim changes nothing.
UPDATE ccc_offsets SET
    last_position = %(position)s,
    next_position = CASE
        WHEN head_position > %(position)s OR replays > 0 THEN coalesce(%(known_next)s, %(position)s + 1)
    END,
    replay_until = max(replay_until, %(position)s),
    blocked_until = NULL, claimed_by = '', claimed_at = NULL, token = 0, attempts = 0, error = ''
WHERE id = %(id)s AND token = %(token)s AND last_position <= %(position)s
  AND %(epoch)s = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = group_id)
RETURNING next_position
