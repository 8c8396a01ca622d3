-- next_position: the first position after the last, and the time; nobody else writes meanwhile.
SELECT
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'ccc_messages'), 0) + 1,
    strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')
