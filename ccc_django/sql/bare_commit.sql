-- bare_commit: one row that means nothing, to see what a commit costs; so old that no sweep takes it for a sample.
INSERT INTO ccc_samples (group_name, taken_at, lag, pending, claims, failures, rate)
VALUES (%(name)s, '2000-01-01 00:00:00', 0, 0, 0, 0, 0)
