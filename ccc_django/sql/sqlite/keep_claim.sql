-- keep_claim: progress within a batch, with the partition still in hand; whoever has lost the claim changes nothing.
-- next_position may be too low, and stays.
UPDATE ccc_offsets SET
    last_position = %(position)s,
    replay_until = max(replay_until, %(position)s),
    attempts = 1, error = ''
WHERE id = %(id)s AND token = %(token)s AND last_position <= %(position)s
  AND %(epoch)s = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = group_id)
RETURNING id
