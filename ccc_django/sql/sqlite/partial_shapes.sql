-- partial_shapes: shapes of handled types; which of a group's attributes they carry is told in Python.
SELECT DISTINCT digest, names
FROM ccc_shapes
WHERE message_type IN (SELECT value FROM json_each(%(types)s))
