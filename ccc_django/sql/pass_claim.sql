-- pass_claim: nothing was found up to a position; that is no progress, and nobody has acked anything.
UPDATE ccc_offsets SET
    next_position = CASE
        WHEN head_position > (SELECT %(position)s::bigint) OR replays > 0 THEN (SELECT %(position)s::bigint) + 1
    END,
    blocked_until = NULL, claimed_by = '', claimed_at = NULL, token = 0, attempts = 0, error = ''
WHERE id = (SELECT %(id)s::bigint) AND token = (SELECT %(token)s::bigint)
  AND (SELECT %(epoch)s::int) = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = group_id)
RETURNING next_position
