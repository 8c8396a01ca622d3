-- lock_pruning: whoever writes is the only one already.
SELECT %(lazy)s
