-- take_guarded_positions: the same, unless something relevant has happened; then there are none.
-- A later statement than the locks: what was committed while they waited must be seen.
WITH
-- include: need_of_conditions
,
-- include: conflict
,
-- include: bound
SELECT set_config('ccc_django.positions', coalesce(array_agg(nextval('ccc_messages_position_seq'))::text, ''), true)
FROM generate_series(1, (SELECT %(count)s::int) + 0 * (SELECT count(*) FROM bound)::int)
WHERE NOT EXISTS (SELECT FROM conflict)
  AND current_setting('transaction_isolation') = 'read committed'
  AND
-- include: as_declared
