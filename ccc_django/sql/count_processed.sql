-- count_processed: add to a statistic; whoever is at the row is not waited for.
UPDATE ccc_group_topics SET processed = processed + (SELECT %(number)s::bigint)
WHERE id = (
    SELECT place.id
    FROM ccc_group_topics AS place
    JOIN ccc_consumer_groups AS known ON known.id = place.group_id
    WHERE known.name = (SELECT %(group)s::text) AND place.topic = (SELECT %(topic)s::text)
    FOR NO KEY UPDATE OF place SKIP LOCKED
)
RETURNING id
