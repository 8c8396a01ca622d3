-- positions_of_pair: the messages of a shape that carry this value, and one of each of the others, in the order of the log.
SELECT entry.position
FROM ccc_message_key_pairs AS entry
WHERE entry.key_pair = unhex(%(pair)s) AND entry.shape = %(shape)s
  AND entry.position > %(after)s AND entry.position <= %(upto)s
  AND entry.position NOT IN (SELECT value FROM json_each(%(seen)s))
  AND NOT EXISTS (
      SELECT 1 FROM json_each(%(others)s) AS need
      WHERE NOT EXISTS (
          SELECT 1
          FROM json_each(need.value) AS wanted CROSS JOIN ccc_message_key_pairs AS other
          WHERE other.key_pair = unhex(wanted.value) AND other.shape = %(shape)s AND other.position = entry.position
      )
  )
ORDER BY entry.position
LIMIT %(most)s
