-- nth_position: where the n-th message between two positions stands, if there are as many.
SELECT position
FROM ccc_messages
WHERE position > CAST(%(after)s AS integer) AND position <= CAST(%(upto)s AS integer)
ORDER BY position
LIMIT 1 OFFSET CAST(%(count)s AS integer) - 1
