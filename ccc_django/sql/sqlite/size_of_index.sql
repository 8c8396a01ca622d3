-- size_of_index: entries and distinct values of a name.
SELECT count(*), count(DISTINCT entry.key_pair)
FROM (SELECT DISTINCT digest FROM ccc_key_pairs WHERE name = %(name)s) AS pair
CROSS JOIN ccc_message_key_pairs AS entry ON entry.key_pair = pair.digest
