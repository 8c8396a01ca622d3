-- add_entry: one row of the index, unless it is there.
INSERT OR IGNORE INTO ccc_message_key_pairs (key_pair, shape, position) VALUES (%s, %s, %s)
