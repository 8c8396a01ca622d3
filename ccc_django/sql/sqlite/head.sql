-- head: the highest position; there is one writer at a time, so everything visible is final.
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'ccc_messages'), 0), 'read committed', 0
