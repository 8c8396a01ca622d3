-- log_statistics: the first and the last message between two positions, and how the server thinks that all are spread.
SELECT
    (SELECT min(position) FROM ccc_messages WHERE position > (SELECT %(after)s::bigint)),
    (SELECT max(position) FROM ccc_messages WHERE position <= (SELECT %(upto)s::bigint)),
    (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'ccc_messages'::regclass),
    (
        SELECT to_jsonb(stats.histogram_bounds::text::bigint[])::text
        FROM pg_stats AS stats
        JOIN pg_class AS relation ON relation.relname = stats.tablename AND relation.relnamespace::regnamespace::text = stats.schemaname
        WHERE relation.oid = 'ccc_messages'::regclass AND stats.attname = 'position'
    )
