-- ready_offsets: partitions of an active group that have open work and that nobody is at.
SELECT partition.id
FROM ccc_consumer_groups AS active
JOIN ccc_offsets AS partition ON partition.group_id = active.id
WHERE active.name = %(name)s
  AND (active.status = 'active' OR active.retry_at <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'))
  AND partition.next_position IS NOT NULL
  AND (partition.blocked_until IS NULL OR partition.blocked_until <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'))
