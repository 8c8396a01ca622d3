-- free_deliveries: a shared claim that was never given to anybody, or was fenced before anybody could see it, blocks nobody.
UPDATE ccc_deliveries SET
    blocked_until = NULL, claimed_by = '', claimed_at = NULL, token = 0, attempts = max(attempts - 1, 0)
WHERE (group_topic_id, position) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(%(wanted)s))
  AND token = %(token)s
RETURNING position
