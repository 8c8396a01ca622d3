-- lock_declarations: become the one writer.
UPDATE ccc_payload_indexes SET id = id WHERE false
