-- partial_shapes: shapes of handled types that carry some of a group's attributes and not all.
SELECT DISTINCT digest, names::text
FROM ccc_shapes
WHERE message_type = ANY ((SELECT %(types)s)::text[])
  AND names ?| (SELECT %(names)s::text[]) AND NOT names ?& (SELECT %(names)s::text[])
