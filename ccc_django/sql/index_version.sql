-- index_version: what is declared to be indexed, as numbers; the first is beyond snapshots, so that old ones are found out.
SELECT opened.last_value, (SELECT coalesce(max(version), 0) FROM ccc_payload_indexes), current_setting('transaction_isolation')
FROM ccc_payload_indexes_opened AS opened
