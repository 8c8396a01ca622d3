-- release_claim: give the partition back without progress, at once or after a pause.
UPDATE ccc_offsets SET
    next_position = CASE WHEN next_position IS NOT NULL THEN greatest(next_position, last_position + 1) END,  -- where a batch was left
    blocked_until = CASE WHEN (SELECT %(paused)s::boolean) THEN statement_timestamp() + (SELECT %(pause)s::float8) * interval '1 second' END,
    attempts = (SELECT %(attempts)s::int),
    error = CASE WHEN (SELECT %(error)s::text) = '' THEN error ELSE (SELECT %(error)s::text) END, claimed_by = '', claimed_at = NULL, token = 0
WHERE id = (SELECT %(id)s::bigint) AND token = (SELECT %(token)s::bigint)
  AND (SELECT %(epoch)s::int) = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = group_id)
RETURNING CASE WHEN blocked_until IS NULL THEN next_position END
