-- try_pruning: become the one writer.
UPDATE ccc_messages SET position = position WHERE false AND %(topic)s RETURNING 1
