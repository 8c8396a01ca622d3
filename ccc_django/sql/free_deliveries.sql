-- free_deliveries: a shared claim that was never given to anybody, or was fenced before anybody could see it, blocks nobody.
UPDATE ccc_deliveries AS held SET
    blocked_until = NULL, claimed_by = '', claimed_at = NULL, token = 0, attempts = greatest(held.attempts - 1, 0)
FROM unnest((SELECT %(places)s::bigint[]), (SELECT %(positions)s::bigint[])) AS wanted(place, position)
WHERE held.group_topic_id = wanted.place AND held.position = wanted.position AND held.token = (SELECT %(token)s::bigint)
RETURNING held.position
