-- free_claim: a claim that was never given to anybody, or was fenced before anybody could see it, blocks nobody.
UPDATE ccc_offsets SET
    blocked_until = NULL, claimed_by = '', claimed_at = NULL, token = 0, attempts = greatest(attempts - 1, 0)
WHERE id = (SELECT %(id)s::bigint) AND token = (SELECT %(token)s::bigint)
RETURNING next_position
