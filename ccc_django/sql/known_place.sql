-- known_place: whether a group still has a place in a topic.
SELECT 1 FROM ccc_group_topics WHERE id = %(id)s
