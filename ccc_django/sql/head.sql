-- head: the highest position below which everything is final.
-- The sequence is read first: whoever takes a bound later takes positions above what we have read.
SELECT
    LEAST(final.position, (
        SELECT min(((classid::bigint & 65535) << 32) | objid::bigint)
        FROM pg_locks
        WHERE locktype = 'advisory'
          AND objsubid = 1
          AND classid::bigint >> 16 = 'ccc_messages'::regclass::oid::bigint & 8191
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND pid IS DISTINCT FROM pg_backend_pid()
          AND final.position IS NOT NULL
    )),
    current_setting('transaction_isolation'),
    pg_is_in_recovery()
FROM (
    SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS position
    FROM ccc_messages_position_seq
) AS final
