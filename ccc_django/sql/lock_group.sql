-- lock_group: one worker at a time advances a group; others go on claiming.
-- An advance that is lost in a crash is made again: where it is committed by itself, nobody waits for the disk.
-- Without statistics the estimates of what follows are so high that PostgreSQL would compile it, for 300 ms.
SELECT
    id, watermark, begins_at, partition_by::text, handled_types::text, most_partitions, catch_up_to, catch_up_types::text,
    marking_upto, marking_number, marking_after, topics::text, set_config('jit', 'off', true),
    CASE WHEN (SELECT %(lazy)s::boolean) THEN set_config('synchronous_commit', 'off', true) END
FROM ccc_consumer_groups
WHERE name = (SELECT %(name)s::text) AND kind = 'ordered' AND NOT is_session
FOR NO KEY UPDATE SKIP LOCKED
