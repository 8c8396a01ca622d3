-- renew_claim: extend the lease.
UPDATE ccc_offsets SET blocked_until = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %(lease)s)
WHERE id = %(id)s AND token = %(token)s
  AND %(epoch)s = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = group_id)
RETURNING blocked_until
