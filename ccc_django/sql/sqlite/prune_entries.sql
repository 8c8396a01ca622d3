-- prune_entries: delete the index entries of a range of positions that have no message any more.
DELETE FROM ccc_message_key_pairs
WHERE position > %(after)s AND position <= %(upto)s
  AND position NOT IN (SELECT position FROM ccc_messages WHERE position > %(after)s AND position <= %(upto)s)
