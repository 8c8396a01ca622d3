-- rank_by_partitions: values, the one that the fewest partitions of a group have first, counted up to a limit.
SELECT pair.value, (
    SELECT count(*)
    FROM (
        SELECT 1 FROM ccc_offset_key_pairs AS named
        WHERE named.group_id = %(group)s AND named.key_pair = unhex(pair.value)
        LIMIT 8192
    )
) AS partitions
FROM json_each(%(pairs)s) AS pair
ORDER BY partitions
