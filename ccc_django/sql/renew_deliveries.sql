-- renew_deliveries: extend the lease of what is left of a shared claim.
UPDATE ccc_deliveries AS held
SET blocked_until = statement_timestamp() + (SELECT %(lease)s::float8) * interval '1 second'
FROM unnest((SELECT %(places)s::bigint[]), (SELECT %(positions)s::bigint[])) AS wanted(place, position)
WHERE held.group_topic_id = wanted.place AND held.position = wanted.position AND held.token = (SELECT %(token)s::bigint)
  AND (SELECT %(epoch)s::int) = (SELECT epoch FROM ccc_consumer_groups WHERE id = (SELECT %(group)s::bigint))
RETURNING held.position
