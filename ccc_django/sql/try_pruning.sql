-- try_pruning: whether nobody else prunes this topic; then nobody does until the transaction ends.
SELECT pg_try_advisory_xact_lock(('ccc_topics'::regclass::oid::bigint & 2147483647)::int, (SELECT %(topic)s::int))
