-- size_of_index: entries and distinct values of a name.
SELECT coalesce(sum(counted.entries), 0)::bigint, count(*)
FROM (SELECT DISTINCT digest FROM ccc_key_pairs WHERE name = (SELECT %(name)s::text)) AS pair
CROSS JOIN LATERAL (SELECT count(*) AS entries FROM ccc_message_key_pairs AS entry WHERE entry.key_pair = pair.digest) AS counted
