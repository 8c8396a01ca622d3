-- mark_partition: the offset of a partition that messages name in full: made where it is missing, woken where it is not.
INSERT INTO ccc_offsets (group_id, partition_id, partition_key, key_pairs, last_position, next_position, head_position)
VALUES (%s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (group_id, partition_id) DO UPDATE SET
    next_position = min(
        coalesce(next_position, 9223372036854775807),
        CASE  -- one that was put before the group's place begins at its own
            WHEN excluded.last_position > last_position THEN last_position + 1
            ELSE max(excluded.next_position, last_position + 1)
        END
    ),
    head_position = max(head_position, excluded.head_position)
WHERE excluded.head_position > last_position
