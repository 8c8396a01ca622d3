-- beat: a worker is there; it sweeps if it did before, or if nobody else does.
INSERT INTO ccc_workers (name, host, pid, groups, progress, started_at, beaten_at, sweeps_until)
VALUES (
    (SELECT %(name)s::text), (SELECT %(host)s::text), (SELECT %(pid)s::int), (SELECT %(groups)s::jsonb),
    (SELECT %(progress)s::jsonb), statement_timestamp(), statement_timestamp(),
    CASE WHEN NOT EXISTS (SELECT FROM ccc_workers WHERE sweeps_until > statement_timestamp() AND name <> (SELECT %(name)s::text))
        THEN statement_timestamp() + (SELECT %(term)s::float8) * interval '1 second'
    END
)
ON CONFLICT (name) DO UPDATE SET
    groups = excluded.groups,
    progress = excluded.progress,
    beaten_at = excluded.beaten_at,
    sweeps_until = excluded.sweeps_until
RETURNING sweeps_until IS NOT NULL
