-- free_claim: a claim that was made together with an ack that failed was never given to anybody.
UPDATE ccc_offsets SET
    blocked_until = NULL, claimed_by = '', claimed_at = NULL, token = 0, attempts = attempts - 1
WHERE id = %(id)s AND token = %(token)s
