-- insert_offset_key_pair: the partition of an offset has a value.
INSERT INTO ccc_offset_key_pairs (group_id, key_pair, offset_id) VALUES (%s, %s, %s)
