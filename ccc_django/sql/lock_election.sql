-- lock_election: one worker at a time beats, so that two of them do not both see that nobody sweeps.
SELECT pg_advisory_xact_lock((1::bigint << 61) | 'ccc_workers'::regclass::oid::bigint)
