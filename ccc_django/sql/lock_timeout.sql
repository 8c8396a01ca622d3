-- lock_timeout: how long locks are waited for.
SELECT current_setting('lock_timeout')
