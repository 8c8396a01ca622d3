-- prune_entries_at: delete the index entries of messages that were pruned, by their positions.
DELETE FROM ccc_message_key_pairs WHERE position = ANY ((SELECT %(positions)s)::bigint[])
