-- ack_claim: progress, and give the partition back; whoever has lost the claim changes nothing.
UPDATE ccc_offsets SET
    last_position = (SELECT %(position)s::bigint),
    next_position = CASE
        WHEN head_position <= (SELECT %(position)s::bigint) THEN NULL
        WHEN (SELECT %(types_version)s::int) = (  -- else messages of a new type may lie before the one that was known
            SELECT types_version FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = group_id
        ) THEN coalesce((SELECT %(known_next)s::bigint), (SELECT %(position)s::bigint) + 1)
        ELSE (SELECT %(position)s::bigint) + 1
    END,
    blocked_until = NULL, claimed_by = '', claimed_at = NULL, token = 0, attempts = 0, error = ''
WHERE id = (SELECT %(id)s::bigint) AND token = (SELECT %(token)s::bigint) AND last_position <= (SELECT %(position)s::bigint)
RETURNING id
