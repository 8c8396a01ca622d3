-- index_version: what is declared to be indexed, as numbers; there are no old snapshots among writers.
SELECT 0, coalesce(max(version), 0), 'read committed' FROM ccc_payload_indexes
