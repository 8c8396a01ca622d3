-- renew_deliveries: extend the lease of what is left of a shared claim.
UPDATE ccc_deliveries SET blocked_until = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %(lease)s)
WHERE (group_topic_id, position) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(%(wanted)s))
  AND token = %(token)s
  AND %(epoch)s = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = %(group)s)
RETURNING position
