-- by_indexes: for this connection, ranges of the log are read in the order of an index, whatever is known of the table.
SELECT set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false), set_config('enable_sort', 'off', false)
