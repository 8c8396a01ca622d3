-- open_index: a number that every append compares grows, beyond all snapshots.
SELECT nextval('ccc_payload_indexes_opened')
