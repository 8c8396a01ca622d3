-- read_conditions_backwards: the messages that belong to conditions, the newest first.
WITH
-- include: need_of_conditions
,
-- include: found_messages_backwards
