-- read_conditions: the messages that belong to conditions, in the order of the log.
WITH
-- include: need_of_conditions
,
-- include: found_messages
