-- remove_entries: some entries of an index that messages do not have by their own class, which their shapes would name.
DELETE FROM ccc_message_key_pairs
WHERE (key_pair, shape, position) IN (
    SELECT entry.key_pair, entry.shape, entry.position
    FROM ccc_key_pairs AS pair CROSS JOIN ccc_message_key_pairs AS entry
    WHERE pair.name = %(name)s AND entry.key_pair = pair.digest
      AND NOT EXISTS (
          SELECT 1 FROM ccc_shapes AS shape, json_each(shape.names) AS name
          WHERE shape.digest = entry.shape AND name.value = %(name)s
      )
    LIMIT %(most)s
)
RETURNING 1
