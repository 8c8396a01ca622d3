bound AS MATERIALIZED (  -- before the first position of a transaction: say where it started, for head
    SELECT pg_advisory_xact_lock_shared(key), set_config('ccc_django.bound', key::text, true)
    FROM (
        SELECT (('ccc_messages'::regclass::oid::bigint & 8191) << 48)
            | CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS key
        FROM ccc_messages_position_seq
        WHERE coalesce(current_setting('ccc_django.bound', true), '') = ''
    ) AS unbound
)
