-- ack_deliveries: messages of a shared claim are done; whoever has lost one of them changes nothing.
-- include: held_deliveries
DELETE FROM ccc_deliveries USING held
WHERE ccc_deliveries.group_topic_id = held.group_topic_id AND ccc_deliveries.position = held.position
  AND (SELECT count(*) FROM held) = cardinality((SELECT %(positions)s::bigint[]))
RETURNING ccc_deliveries.position
