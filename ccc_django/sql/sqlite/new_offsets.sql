-- new_offsets: those that were made after an id.
SELECT id, key_pairs FROM ccc_offsets WHERE +group_id = %(group)s AND id > %(after)s ORDER BY id
