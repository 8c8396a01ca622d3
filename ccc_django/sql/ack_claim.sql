-- ack_claim: progress, and give the partition back; whoever has lost the claim changes nothing.
-- What the claim knows of its next message holds in its own epoch: a new type may have messages before it.
UPDATE ccc_offsets SET
    last_position = (SELECT %(position)s::bigint),
    next_position = CASE
        WHEN head_position > (SELECT %(position)s::bigint) OR replays > 0
        THEN coalesce((SELECT %(known_next)s::bigint), (SELECT %(position)s::bigint) + 1)
    END,
    replay_until = greatest(replay_until, (SELECT %(position)s::bigint)),
    blocked_until = NULL, claimed_by = '', claimed_at = NULL, token = 0, attempts = 0, error = ''
WHERE id = (SELECT %(id)s::bigint) AND token = (SELECT %(token)s::bigint)
  AND last_position <= (SELECT %(position)s::bigint)
  AND (SELECT %(epoch)s::int) = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = group_id)
RETURNING next_position
