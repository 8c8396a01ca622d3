-- insert_entries: rows of the index, for the positions taken.
INSERT INTO ccc_message_key_pairs (key_pair, shape, position)
SELECT entry.pair, entry.shape, taken.positions[entry.n]
FROM
-- include: taken
, unnest((SELECT %(entry_pairs)s::uuid[]), (SELECT %(entry_shapes)s::bigint[]), (SELECT %(entry_numbers)s::int[])) AS entry(pair, shape, n)
WHERE taken.positions IS NOT NULL
