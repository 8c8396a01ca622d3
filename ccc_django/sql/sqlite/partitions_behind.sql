-- partitions_behind: a partition that a message belongs to and that has not passed it, if there is one.
SELECT known.offset_id
FROM (
    SELECT pair.offset_id
    FROM json_each(%(pairs)s) AS wanted
    CROSS JOIN ccc_offset_key_pairs AS pair ON pair.group_id = %(group)s AND pair.key_pair = unhex(wanted.value)
    GROUP BY pair.offset_id
    HAVING count(*) = %(names)s
) AS known
CROSS JOIN ccc_offsets AS behind ON behind.id = known.offset_id AND behind.last_position < %(position)s
LIMIT 1
