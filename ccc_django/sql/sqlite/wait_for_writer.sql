-- wait_for_writer: whoever opens the database while somebody else opens or closes it waits, as Django's connections do.
PRAGMA busy_timeout = 20000
