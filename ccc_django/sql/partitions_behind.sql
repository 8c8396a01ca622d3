-- partitions_behind: a partition that a message belongs to and that has not passed it, if there is one.
SELECT known.offset_id
FROM (
    SELECT pair.offset_id
    FROM unnest((SELECT %(pairs)s::uuid[])) AS wanted(pair)
    CROSS JOIN LATERAL (
        SELECT offset_id FROM ccc_offset_key_pairs WHERE group_id = (SELECT %(group)s::bigint) AND key_pair = wanted.pair OFFSET 0
    ) AS pair
    GROUP BY pair.offset_id
    HAVING count(*) = (SELECT %(names)s::int)
) AS known
CROSS JOIN LATERAL (
    SELECT FROM ccc_offsets WHERE id = known.offset_id AND last_position < (SELECT %(position)s::bigint) OFFSET 0
) AS behind
LIMIT 1
