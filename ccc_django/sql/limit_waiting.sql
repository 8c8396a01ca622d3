-- limit_waiting: no lock is waited for longer than this, until the transaction ends.
SELECT set_config('lock_timeout', (SELECT %(limit)s::text), true)
