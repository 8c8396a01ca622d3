-- count_processed: add to a statistic; whoever is at the row is not waited for.
UPDATE ccc_group_topics SET processed = processed + (SELECT %(number)s::bigint)
WHERE id = (SELECT id FROM ccc_group_topics WHERE id = (SELECT %(id)s::bigint) FOR NO KEY UPDATE SKIP LOCKED)
RETURNING id
