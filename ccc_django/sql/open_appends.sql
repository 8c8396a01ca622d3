-- open_appends: transactions of others that have appended and are open; each holds the lock of the log.
SELECT virtualtransaction
FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1
  AND (classid::bigint << 32) | objid::bigint = (SELECT %(key)s::bigint)
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND pid IS DISTINCT FROM pg_backend_pid()
