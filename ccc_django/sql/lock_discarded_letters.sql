-- lock_discarded_letters: whoever wants to deliver one of a range again waits, and then finds no message.
SELECT id
FROM ccc_dead_letters
WHERE position > (SELECT %(after)s::bigint) AND position <= (SELECT %(upto)s::bigint) AND status = 'discarded'
ORDER BY id
FOR UPDATE
