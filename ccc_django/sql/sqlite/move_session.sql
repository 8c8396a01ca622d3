-- move_session: everything up to a position is done, or passed over by a seek; whoever has lost the session changes nothing.
-- A commit never moves back.
UPDATE ccc_offsets SET
    last_position = CASE WHEN %(is_seek)s THEN %(position)s ELSE max(last_position, %(position)s) END,
    replay_until = CASE WHEN %(is_seek)s OR last_position >= %(position)s THEN replay_until ELSE %(position)s END,
    next_position = NULL
WHERE id = %(id)s AND token = %(token)s
  AND EXISTS (SELECT 1 FROM ccc_consumer_groups WHERE id = %(group)s AND id = group_id AND epoch = %(epoch)s)
RETURNING last_position
