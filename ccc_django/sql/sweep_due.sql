-- sweep_due: in how many seconds the next scheduled message is due, and how many ago the last sample was taken.
SELECT
    (SELECT extract(epoch FROM min(due_at) - statement_timestamp())::float8 FROM ccc_scheduled_messages),
    (SELECT extract(epoch FROM statement_timestamp() - max(taken_at))::float8 FROM ccc_samples)
