-- fetch_partition: the next messages that belong to a partition, by conditional AND, in the order of the log.
WITH
-- include: need_of_partition
,
-- include: found_messages
