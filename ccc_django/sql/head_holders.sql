-- head_holders: open transactions of others that have appended, the one that holds the head back the most first.
-- A prepared transaction has no process, and is known by its own lock; of other roles' processes not everybody may see
-- since when they run.
WITH locks AS MATERIALIZED (
    SELECT locktype, database, classid, objid, objsubid, transactionid, pid, virtualtransaction FROM pg_locks
), holders AS (
    SELECT pid, virtualtransaction, ((classid::bigint & 65535) << 32) | objid::bigint AS bound
    FROM locks
    WHERE locktype = 'advisory'
      AND objsubid = 1
      AND classid::bigint >> 16 = 'ccc_messages'::regclass::oid::bigint & 8191
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND pid IS DISTINCT FROM pg_backend_pid()
), prepared AS (
    SELECT own.virtualtransaction, waiting.gid, waiting.prepared
    FROM locks AS own
    JOIN pg_prepared_xacts AS waiting ON waiting.transaction = own.transactionid
    WHERE own.locktype = 'transactionid' AND own.pid IS NULL
)
SELECT
    holder.pid,
    coalesce(activity.application_name, prepared.gid, ''),
    coalesce(activity.xact_start, prepared.prepared),
    extract(epoch FROM statement_timestamp() - coalesce(activity.xact_start, prepared.prepared))::float8,
    holder.bound
FROM holders AS holder
LEFT JOIN pg_stat_activity AS activity ON activity.pid = holder.pid
LEFT JOIN prepared ON holder.pid IS NULL AND prepared.virtualtransaction = holder.virtualtransaction
ORDER BY holder.bound, 4 DESC NULLS LAST
