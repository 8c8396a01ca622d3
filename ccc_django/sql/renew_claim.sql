-- renew_claim: extend the lease.
UPDATE ccc_offsets SET blocked_until = statement_timestamp() + (SELECT %(lease)s::float8) * interval '1 second'
WHERE id = (SELECT %(id)s::bigint) AND token = (SELECT %(token)s::bigint)
  AND (SELECT %(epoch)s::int) = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = group_id)
RETURNING blocked_until
