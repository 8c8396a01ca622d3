-- nth_position: where the n-th message between two positions stands, if there are as many.
SELECT position
FROM ccc_messages
WHERE position > (SELECT %(after)s::bigint) AND position <= (SELECT %(upto)s::bigint)
ORDER BY position
OFFSET (SELECT %(count)s::bigint - 1)
LIMIT 1
