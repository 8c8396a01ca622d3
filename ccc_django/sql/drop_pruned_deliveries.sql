-- drop_pruned_deliveries: groups that nothing is kept for have lost what was pruned; what somebody has in hand is left to it.
-- Locked in the order in which acks lock, so that neither waits for the other.
WITH locked AS MATERIALIZED (
    SELECT group_topic_id, position
    FROM ccc_deliveries
    WHERE group_topic_id = ANY ((SELECT %(places)s)::bigint[])
      AND position > (SELECT %(after)s::bigint) AND position <= (SELECT %(upto)s::bigint) AND claimed_by = ''
      AND (SELECT count(*) FROM ccc_messages WHERE ccc_messages.position = ccc_deliveries.position) = 0
    ORDER BY group_topic_id, position
    FOR UPDATE
)
DELETE FROM ccc_deliveries USING locked
WHERE ccc_deliveries.group_topic_id = locked.group_topic_id AND ccc_deliveries.position = locked.position
