-- insert_shape: a row of the dictionary, unless it is there.
INSERT INTO ccc_shapes (digest, message_type, names)
SELECT new.digest, new.message_type, new.names
FROM (SELECT %s AS digest, %s AS message_type, %s AS names) AS new
WHERE NOT EXISTS (SELECT 1 FROM ccc_shapes AS known WHERE known.digest = new.digest)
