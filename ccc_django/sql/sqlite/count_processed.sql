-- count_processed: add to a statistic.
UPDATE ccc_group_topics SET processed = processed + %(number)s
WHERE topic = %(topic)s AND group_id = (SELECT id FROM ccc_consumer_groups WHERE name = %(group)s)
RETURNING id
