-- last_position: the highest position.
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'ccc_messages'), 0)
