-- count_processed: add to a statistic.
UPDATE ccc_group_topics SET processed = processed + %(number)s WHERE id = %(id)s RETURNING id
