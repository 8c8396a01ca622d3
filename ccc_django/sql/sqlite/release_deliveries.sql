-- release_deliveries: messages of a shared claim are given back, at once or after a pause.
UPDATE ccc_deliveries SET
    blocked_until = CASE WHEN %(paused)s THEN strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %(pause)s) END,
    attempts = %(attempts)s,
    error = CASE WHEN %(error)s = '' THEN error ELSE %(error)s END, claimed_by = '', claimed_at = NULL, token = 0
WHERE (group_topic_id, position) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(%(wanted)s))
  AND token = %(token)s
  AND %(epoch)s = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = %(group)s)
  AND json_array_length(%(wanted)s) = (
      SELECT count(*) FROM json_each(%(wanted)s) AS each JOIN ccc_deliveries AS held
          ON held.group_topic_id = json_extract(each.value, '$[0]') AND held.position = json_extract(each.value, '$[1]')
      WHERE held.token = %(token)s
  )
RETURNING position
