-- without_jit: without statistics the estimates of what follows are so high that PostgreSQL would compile it.
SELECT set_config('jit', 'off', true)
