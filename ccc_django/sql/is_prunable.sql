-- is_prunable: whether a message of a range is old, and neither of a type that is kept, nor a dead letter, nor needed by a partition to come.
CASE  -- not by AND: the planner would combine the index on the time, which has all old messages of the log
    WHEN message.appended_at >= statement_timestamp() - (SELECT %(age)s::float8) * interval '1 second' THEN false
    WHEN message.message_type = ANY ((SELECT %(kept_types)s)::text[]) THEN false
    WHEN (SELECT EXISTS (
        SELECT FROM ccc_dead_letters
        WHERE position > (SELECT %(after)s::bigint) AND position <= (SELECT %(upto)s::bigint)
          AND status IN ('open', 'replaying', 'coming')
    )) AND (
        SELECT count(*) FROM ccc_dead_letters AS letter
        WHERE letter.position = message.position AND letter.status IN ('open', 'replaying', 'coming')
    ) > 0 THEN false
    WHEN (SELECT cardinality((SELECT %(kept_shapes)s)::bigint[])) > 0
        AND message.appended_at >= statement_timestamp() - (SELECT %(partial_age)s::float8) * interval '1 second'
        AND (
            SELECT count(*) FROM ccc_message_key_pairs AS entry
            WHERE entry.position = message.position AND entry.shape = ANY ((SELECT %(kept_shapes)s)::bigint[])
        ) > 0 THEN false
    ELSE true
END
