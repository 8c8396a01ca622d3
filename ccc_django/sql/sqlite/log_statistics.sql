-- log_statistics: the first and the last message between two positions; nothing is known of how they are spread.
SELECT
    (SELECT min(position) FROM ccc_messages WHERE position > CAST(%(after)s AS integer)),
    (SELECT max(position) FROM ccc_messages WHERE position <= CAST(%(upto)s AS integer)),
    NULL,
    NULL
