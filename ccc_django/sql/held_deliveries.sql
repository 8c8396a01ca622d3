-- held_deliveries: those of some messages that a claim still holds, locked in the order in which everybody locks them.
WITH held AS MATERIALIZED (
    SELECT known.group_topic_id, known.position
    FROM unnest((SELECT %(places)s::bigint[]), (SELECT %(positions)s::bigint[])) AS wanted(place, position)
    CROSS JOIN LATERAL (
        SELECT group_topic_id, position FROM ccc_deliveries
        WHERE group_topic_id = wanted.place AND ccc_deliveries.position = wanted.position
          AND token = (SELECT %(token)s::bigint)
        FOR UPDATE
    ) AS known
    WHERE (SELECT %(epoch)s::int) = (SELECT epoch FROM ccc_consumer_groups WHERE id = (SELECT %(group)s::bigint))
)
