-- known_place: whether a group still has a place in a topic.
SELECT place.id
FROM ccc_group_topics AS place
JOIN ccc_consumer_groups AS known ON known.id = place.group_id
WHERE known.name = %(group)s AND place.topic = %(topic)s
