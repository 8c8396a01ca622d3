-- take_positions: new positions, kept for the statements that follow in this transaction; none if indexes have been
-- declared that the caller does not know.
WITH
-- include: bound
SELECT set_config('ccc_django.positions', coalesce(array_agg(nextval('ccc_messages_position_seq'))::text, ''), true)
FROM generate_series(1, (SELECT %(count)s::int) + 0 * (SELECT count(*) FROM bound)::int)
WHERE
-- include: as_declared
