-- lock_promotion: one process at a time promotes, so that messages enter the log in the order of their times.
SELECT pg_try_advisory_xact_lock((1::bigint << 61) | 'ccc_scheduled_messages'::regclass::oid::bigint)
