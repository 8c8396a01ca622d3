-- lock_append_in_transaction: the same for a transaction that may hold locks already; it remembers which.
-- With more than 64 locks it takes the few bulk locks instead, so that the lock table cannot be exhausted.
WITH held AS MATERIALIZED (
    SELECT current_setting('ccc_django.locks', true) AS text
), missing AS MATERIALIZED (
    SELECT key, exclusive, key * 2 + exclusive::int AS mark
    FROM held, unnest((SELECT %(keys)s::bigint[]), (SELECT %(exclusive)s::boolean[])) AS wanted(key, exclusive)
    WHERE coalesce(held.text, '') = ''
       OR held.text <> '*' AND key * 2 + exclusive::int <> ALL (string_to_array(held.text, ',')::bigint[])
), now_held AS MATERIALIZED (
    SELECT CASE
        WHEN held.text = '*' THEN '*'
        WHEN coalesce(cardinality(string_to_array(held.text, ',')), 0) + (SELECT count(*) FROM missing) > 64 THEN '*'
        ELSE concat_ws(',', nullif(held.text, ''), (SELECT string_agg(mark::text, ',') FROM missing))
    END AS text
    FROM held
), taken AS MATERIALIZED (
    SELECT CASE WHEN exclusive THEN pg_advisory_xact_lock(key) ELSE pg_advisory_xact_lock_shared(key) END AS lock
    FROM (
        SELECT key, exclusive FROM now_held, missing WHERE now_held.text <> '*'
        UNION ALL
        SELECT key, exclusive
        FROM now_held, unnest((SELECT %(bulk_keys)s::bigint[]), (SELECT %(bulk_exclusive)s::boolean[])) AS bulk(key, exclusive)
        WHERE now_held.text = '*'
        ORDER BY key
        OFFSET 0  -- a fence: the locks are taken in the order of their keys
    ) AS sorted
)
SELECT
    current_setting('transaction_isolation'),
    (SELECT count(lock::text) FROM taken),
    set_config('ccc_django.locks', now_held.text, true)
FROM now_held
