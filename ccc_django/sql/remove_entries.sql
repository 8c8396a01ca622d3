-- remove_entries: some entries of an index that messages do not have by their own class, which their shapes would name.
DELETE FROM ccc_message_key_pairs AS entry
USING (
    SELECT entry.key_pair, entry.shape, entry.position
    FROM ccc_key_pairs AS pair
    JOIN ccc_message_key_pairs AS entry ON entry.key_pair = pair.digest
    WHERE pair.name = (SELECT %(name)s::text)
      AND NOT EXISTS (
          SELECT FROM ccc_shapes AS shape WHERE shape.digest = entry.shape AND shape.names ? (SELECT %(name)s::text)
      )
    LIMIT (SELECT %(most)s::int)
) AS found
WHERE entry.key_pair = found.key_pair AND entry.shape = found.shape AND entry.position = found.position
RETURNING 1
