-- release_claim: give the partition back without progress, at once or after a pause.
UPDATE ccc_offsets SET
    blocked_until = CASE WHEN %(paused)s THEN strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %(pause)s) END,
    attempts = %(attempts)s,
    error = %(error)s, claimed_by = '', claimed_at = NULL, token = 0
WHERE id = %(id)s AND token = %(token)s
  AND %(epoch)s = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = group_id)
RETURNING next_position
