-- pass_place: deliveries of a topic are made up to a position.
UPDATE ccc_group_topics SET watermark = %(position)s, is_touched = is_touched OR %(has_some)s WHERE id = %(id)s
