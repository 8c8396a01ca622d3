-- declared_indexes: what appends write and filters use.
SELECT fields::text, nulls, status, built_upto, upto
FROM ccc_payload_indexes
WHERE status <> 'dropped'
ORDER BY id
