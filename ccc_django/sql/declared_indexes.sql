-- declared_indexes: what appends write and filters use.
SELECT fields::text, nulls, status
FROM ccc_payload_indexes
WHERE status <> 'dropped'
ORDER BY id
