-- read_filter_backwards: the messages that match a filter, the newest first.
WITH
-- include: need
,
-- include: found_messages_backwards
