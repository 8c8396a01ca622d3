-- prune_all_entries: delete the index entries of a range of positions of which no message is left.
DELETE FROM ccc_message_key_pairs WHERE position > %(after)s AND position <= %(upto)s
