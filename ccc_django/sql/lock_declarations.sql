-- lock_declarations: one at a time changes what is declared; nobody who reads it waits.
LOCK TABLE ccc_payload_indexes IN SHARE ROW EXCLUSIVE MODE
