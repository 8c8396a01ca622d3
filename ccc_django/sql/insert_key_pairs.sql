-- insert_key_pairs: what the dictionary lacks.
-- Never ON CONFLICT, which would wait for another's open transaction; doubles do no harm. Each is probed by itself:
-- given NOT EXISTS or LIMIT, and no statistics, the planner would rather scan the dictionary.
INSERT INTO ccc_key_pairs (digest, name, value)
SELECT pair.digest, pair.name, pair.value
FROM unnest((SELECT %(pair_ids)s::uuid[]), (SELECT %(pair_names)s::text[]), (SELECT %(pair_values)s::text[])) AS pair(digest, name, value)
CROSS JOIN LATERAL (SELECT count(*) FROM ccc_key_pairs AS key_pair WHERE key_pair.digest = pair.digest) AS known(times)
WHERE known.times = 0 AND current_setting('ccc_django.positions') <> ''
