(SELECT last_value FROM ccc_payload_indexes_opened) = (SELECT %(opened)s::bigint)
  AND (SELECT coalesce(max(version), 0) FROM ccc_payload_indexes) = (SELECT %(declared)s::bigint)
