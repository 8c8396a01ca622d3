-- count_listeners: how many wait to be called.
SELECT count(*)
FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1
  AND (classid::bigint << 32) | objid::bigint = (SELECT %(key)s::bigint)
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
