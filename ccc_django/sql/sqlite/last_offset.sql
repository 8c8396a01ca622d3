-- last_offset: the highest id.
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'ccc_offsets'), 0)
