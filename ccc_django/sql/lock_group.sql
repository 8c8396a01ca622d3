-- lock_group: one worker at a time advances a group; others go on claiming.
SELECT watermark, start, partition_by::text, handled_types::text
FROM ccc_consumer_groups
WHERE id = (SELECT %(group)s::bigint)
FOR NO KEY UPDATE SKIP LOCKED
