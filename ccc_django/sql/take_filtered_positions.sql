-- take_filtered_positions: the same for a guard with a filter, or one that names whole types.
WITH
-- include: need
,
-- include: conflict
,
-- include: conflict_of_types
,
-- include: bound
SELECT set_config('ccc_django.positions', coalesce(array_agg(nextval('ccc_messages_position_seq'))::text, ''), true)
FROM generate_series(1, (SELECT %(count)s::int) + 0 * (SELECT count(*) FROM bound)::int)
WHERE NOT EXISTS (SELECT FROM conflict)
  AND NOT EXISTS (SELECT FROM conflict_of_types)
  AND current_setting('transaction_isolation') = 'read committed'
  AND
-- include: as_declared
