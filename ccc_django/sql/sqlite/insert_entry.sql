-- insert_entry: one row of the index.
INSERT INTO ccc_message_key_pairs (key_pair, shape, position) VALUES (%s, %s, %s)
