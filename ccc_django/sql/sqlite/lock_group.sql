-- lock_group: there is one writer at a time.
SELECT watermark, start, partition_by, handled_types FROM ccc_consumer_groups WHERE id = %(group)s
