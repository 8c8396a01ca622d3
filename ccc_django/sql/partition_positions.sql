-- partition_positions: where the messages of a partition are.
WITH
-- include: need_of_partition
,
-- include: found
SELECT position FROM found
