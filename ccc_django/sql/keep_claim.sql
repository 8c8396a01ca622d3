-- keep_claim: progress within a batch, with the partition still in hand; whoever has lost the claim changes nothing.
-- What indexes contain stays as it is, so that the row can be changed where it stands: next_position may be too low.
UPDATE ccc_offsets SET
    last_position = (SELECT %(position)s::bigint),
    replay_until = greatest(replay_until, (SELECT %(position)s::bigint)),
    attempts = 1, error = ''
WHERE id = (SELECT %(id)s::bigint) AND token = (SELECT %(token)s::bigint)
  AND last_position <= (SELECT %(position)s::bigint)
  AND (SELECT %(epoch)s::int) = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = group_id)
RETURNING id
