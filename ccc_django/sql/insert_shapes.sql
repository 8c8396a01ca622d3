-- insert_shapes: what the dictionary lacks.
INSERT INTO ccc_shapes (digest, message_type, names)
SELECT shape.digest, shape.message_type, shape.names::jsonb
FROM unnest((SELECT %(shape_ids)s::bigint[]), (SELECT %(shape_types)s::text[]), (SELECT %(shape_names)s::text[])) AS shape(digest, message_type, names)
CROSS JOIN LATERAL (SELECT count(*) FROM ccc_shapes AS stored WHERE stored.digest = shape.digest) AS known(times)
WHERE known.times = 0 AND current_setting('ccc_django.positions') <> ''
