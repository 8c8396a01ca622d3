-- insert_key_pair: a row of the dictionary, unless it is there.
INSERT INTO ccc_key_pairs (digest, name, value)
SELECT new.digest, new.name, new.value
FROM (SELECT %s AS digest, %s AS name, %s AS value) AS new
WHERE NOT EXISTS (SELECT 1 FROM ccc_key_pairs AS known WHERE known.digest = new.digest)
