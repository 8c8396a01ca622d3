-- lock_declarations: one at a time changes what is declared; nobody who reads or builds it waits.
SELECT pg_advisory_xact_lock((1::bigint << 61) | 'ccc_payload_indexes'::regclass::oid::bigint)
