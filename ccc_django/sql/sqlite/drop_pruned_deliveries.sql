-- drop_pruned_deliveries: groups that nothing is kept for have lost what was pruned; what somebody has in hand is left to it.
DELETE FROM ccc_deliveries
WHERE group_topic_id IN (SELECT value FROM json_each(%(places)s)) AND position > %(after)s AND position <= %(upto)s
  AND claimed_by = '' AND NOT EXISTS (SELECT 1 FROM ccc_messages WHERE ccc_messages.position = ccc_deliveries.position)
