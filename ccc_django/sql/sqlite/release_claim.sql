-- release_claim: give the partition back without progress, at once or after a pause.
UPDATE ccc_offsets SET
    next_position = max(next_position, last_position + 1),  -- where a batch was left; null stays null
    blocked_until = CASE WHEN %(paused)s THEN strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %(pause)s) END,
    attempts = %(attempts)s,
    error = CASE WHEN %(error)s = '' THEN error ELSE %(error)s END, claimed_by = '', claimed_at = NULL, token = 0
WHERE id = %(id)s AND token = %(token)s
  AND %(epoch)s = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = group_id)
RETURNING CASE WHEN blocked_until IS NULL THEN next_position END
