-- beat: a worker is there; it sweeps if it did before, or if nobody else does.
INSERT INTO ccc_workers (name, host, pid, groups, progress, started_at, beaten_at, sweeps_until)
VALUES (
    %(name)s, %(host)s, %(pid)s, %(groups)s, %(progress)s, strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'),
    strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'),
    CASE WHEN NOT EXISTS (
        SELECT 1 FROM ccc_workers WHERE sweeps_until > strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now') AND name <> %(name)s
    ) THEN strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %(term)s)
    END
)
ON CONFLICT (name) DO UPDATE SET
    groups = excluded.groups,
    progress = excluded.progress,
    beaten_at = excluded.beaten_at,
    sweeps_until = excluded.sweeps_until
RETURNING sweeps_until IS NOT NULL
