-- declared_indexes: what appends write and filters use.
SELECT fields, nulls, status
FROM ccc_payload_indexes
WHERE status <> 'dropped'
ORDER BY id
