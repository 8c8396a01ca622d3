-- pass_session: a session's group is where its offset is.
UPDATE ccc_consumer_groups SET watermark = (SELECT last_position FROM ccc_offsets WHERE id = %(id)s) WHERE id = %(group)s
