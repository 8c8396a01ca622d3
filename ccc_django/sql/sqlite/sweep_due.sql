-- sweep_due: in how many seconds the next scheduled message is due, and how many ago the last sample was taken.
SELECT
    (SELECT (julianday(min(due_at)) - julianday('now')) * 86400.0 FROM ccc_scheduled_messages),
    (SELECT (julianday('now') - julianday(max(taken_at))) * 86400.0 FROM ccc_samples)
