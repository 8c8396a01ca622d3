-- share_pruning: nothing is pruned until the transaction ends.
SELECT pg_advisory_xact_lock_shared((1::bigint << 61) | 'ccc_message_key_pairs'::regclass::oid::bigint)
