-- notify: call the listeners; a call that is lost in a crash does no harm, so that nobody waits for the disk.
SELECT set_config('synchronous_commit', 'off', true), pg_notify(%(channel)s::text, %(payload)s::text)
