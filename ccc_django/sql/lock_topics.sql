-- lock_topics: one at a time changes which group gets which topic; nobody who publishes, claims or acks waits.
SELECT pg_advisory_xact_lock((1::bigint << 61) | 'ccc_topics'::regclass::oid::bigint)
