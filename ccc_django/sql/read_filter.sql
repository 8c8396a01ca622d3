-- read_filter: the messages that match a filter, in the order of the log.
WITH
-- include: need
,
-- include: found_messages
