-- prune_entries: delete the index entries of a range of positions that have no message any more.
-- More messages than the limit are never in the range; it keeps the planner from giving up its hash table.
DELETE FROM ccc_message_key_pairs
WHERE position > (SELECT %(after)s::bigint) AND position <= (SELECT %(upto)s::bigint)
  AND position NOT IN (
      SELECT position FROM ccc_messages
      WHERE position > (SELECT %(after)s::bigint) AND position <= (SELECT %(upto)s::bigint)
      LIMIT 50000
  )
