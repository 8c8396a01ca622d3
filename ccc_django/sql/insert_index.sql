-- insert_index: rows of the index for the positions taken, and what the dictionaries lack.
-- Never ON CONFLICT, which would wait for another's open transaction; doubles do no harm. Each is probed by itself:
-- given NOT EXISTS or LIMIT, and no statistics, the planner would rather scan a dictionary.
WITH named AS (
    INSERT INTO ccc_key_pairs (digest, name, value)
    SELECT pair.digest, pair.name, pair.value
    FROM unnest((SELECT %(pair_ids)s::uuid[]), (SELECT %(pair_names)s::text[]), (SELECT %(pair_values)s::text[]))
        AS pair(digest, name, value)
    CROSS JOIN LATERAL (SELECT count(*) FROM ccc_key_pairs AS key_pair WHERE key_pair.digest = pair.digest) AS known(times)
    WHERE known.times = 0 AND current_setting('ccc_django.positions') <> ''
), shaped AS (
    INSERT INTO ccc_shapes (digest, message_type, names)
    SELECT shape.digest, shape.message_type, shape.names::jsonb
    FROM unnest((SELECT %(shape_ids)s::bigint[]), (SELECT %(shape_types)s::text[]), (SELECT %(shape_names)s::text[]))
        AS shape(digest, message_type, names)
    CROSS JOIN LATERAL (SELECT count(*) FROM ccc_shapes AS stored WHERE stored.digest = shape.digest) AS known(times)
    WHERE known.times = 0 AND current_setting('ccc_django.positions') <> ''
)
INSERT INTO ccc_message_key_pairs (key_pair, shape, position)
SELECT entry.pair, entry.shape, taken.positions[entry.n]
FROM
-- include: taken
, unnest((SELECT %(entry_pairs)s::uuid[]), (SELECT %(entry_shapes)s::bigint[]), (SELECT %(entry_numbers)s::int[]))
    AS entry(pair, shape, n)
WHERE taken.positions IS NOT NULL
