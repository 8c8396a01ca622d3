-- lock_discarded_letters: there is one writer, and nobody to wait for.
SELECT id FROM ccc_dead_letters WHERE position > %(after)s AND position <= %(upto)s AND status = 'discarded'
