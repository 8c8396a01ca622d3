-- lock_group: one worker at a time advances a group; others go on claiming.
SELECT
    id, watermark, begins_at, partition_by::text, handled_types::text, most_partitions, catch_up_to, catch_up_types::text,
    marking_upto, marking_number, marking_after
FROM ccc_consumer_groups
WHERE name = (SELECT %(name)s::text)
FOR NO KEY UPDATE SKIP LOCKED
