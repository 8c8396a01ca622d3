-- lock_pruning: one batch at a time is pruned, and none while a batch of messages is being indexed.
-- What is lost in a crash is pruned again: where a batch is committed by itself, nobody waits for the disk.
-- Without statistics the estimates of what follows are so high that PostgreSQL would compile it.
SELECT
    pg_advisory_xact_lock((1::bigint << 61) | 'ccc_message_key_pairs'::regclass::oid::bigint), set_config('jit', 'off', true),
    CASE WHEN (SELECT %(lazy)s::boolean) THEN set_config('synchronous_commit', 'off', true) END
