-- conflict_positions: where it happened, what a guard's reader has not seen.
WITH
-- include: need
,
-- include: conflict
SELECT position FROM conflict
