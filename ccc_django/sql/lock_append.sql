-- lock_append: wait for guards on what we write, and for writers of what we guard, in one fixed order.
SELECT
    current_setting('transaction_isolation'),
    count(CASE WHEN exclusive THEN pg_advisory_xact_lock(key) ELSE pg_advisory_xact_lock_shared(key) END::text)
FROM (
    SELECT key, exclusive
    FROM unnest((SELECT %(keys)s::bigint[]), (SELECT %(exclusive)s::boolean[])) AS wanted(key, exclusive)
    ORDER BY key
    OFFSET 0  -- a fence: the locks are taken in the order of their keys
) AS sorted
