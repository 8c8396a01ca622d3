-- woken_offsets: partitions that have all the values of a message that names them in part, in the order of ids.
SELECT named.offset_id
FROM ccc_offset_key_pairs AS named
WHERE named.group_id = %(group)s AND named.key_pair = unhex(%(pair)s) AND named.offset_id > %(after)s
  AND NOT EXISTS (
      SELECT 1 FROM json_each(%(others)s) AS other
      WHERE NOT EXISTS (
          SELECT 1 FROM ccc_offset_key_pairs AS confirmed
          WHERE confirmed.group_id = named.group_id AND confirmed.key_pair = unhex(other.value)
            AND confirmed.offset_id = named.offset_id
      )
  )
ORDER BY named.offset_id
LIMIT %(most)s
