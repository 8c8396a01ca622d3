-- last_position: the highest position that has been taken, final or not.
SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM ccc_messages_position_seq
