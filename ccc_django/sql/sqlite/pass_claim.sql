-- pass_claim: nothing was found up to a position; that is no progress, and nobody has acked anything.
UPDATE ccc_offsets SET
    next_position = CASE WHEN head_position > %(position)s OR replays > 0 THEN %(position)s + 1 END,
    blocked_until = NULL, claimed_by = '', claimed_at = NULL, token = 0, attempts = 0, error = ''
WHERE id = %(id)s AND token = %(token)s
  AND %(epoch)s = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = group_id)
RETURNING next_position
