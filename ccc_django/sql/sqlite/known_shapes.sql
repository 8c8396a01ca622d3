-- known_shapes: the attribute sets that messages of these types, or of all, have carried.
SELECT DISTINCT digest, message_type, names
FROM ccc_shapes
WHERE message_type IN (SELECT value FROM json_each(%(types)s)) OR %(every)s
