-- drop_deliveries: nothing of these places is open any more, up to a position; which were, and whether they were dead letters.
DELETE FROM ccc_deliveries
WHERE group_topic_id IN (SELECT value FROM json_each(%(places)s)) AND position <= %(upto)s
RETURNING position, again
