-- lock_group: there is one writer at a time.
SELECT
    id, watermark, begins_at, partition_by, handled_types, most_partitions, catch_up_to, catch_up_types,
    marking_upto, marking_number, marking_after, topics, 'off', 'off'
FROM ccc_consumer_groups
WHERE name = %(name)s AND kind = 'ordered' AND NOT is_session
