-- ack_deliveries: messages of a shared claim are done; whoever has lost one of them changes nothing.
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
DELETE FROM ccc_deliveries USING held
WHERE ccc_deliveries.group_topic_id = held.group_topic_id AND ccc_deliveries.position = held.position
  AND (SELECT count(*) FROM held) = cardinality((SELECT %(positions)s::bigint[]))
RETURNING ccc_deliveries.position
