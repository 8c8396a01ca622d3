-- drop_deliveries: nothing of these places is open any more, up to a position; how many were, and which were dead letters.
-- Locked in the order in which acks lock, so that neither waits for the other.
WITH locked AS MATERIALIZED (
    SELECT group_topic_id, position
    FROM ccc_deliveries
    WHERE group_topic_id = ANY ((SELECT %(places)s)::bigint[]) AND position <= (SELECT %(upto)s::bigint)
    ORDER BY group_topic_id, position
    FOR UPDATE
), dropped AS (
    DELETE FROM ccc_deliveries USING locked
    WHERE ccc_deliveries.group_topic_id = locked.group_topic_id AND ccc_deliveries.position = locked.position
    RETURNING ccc_deliveries.position, ccc_deliveries.again
)
SELECT count(*)::bigint, coalesce(array_agg(position) FILTER (WHERE again), '{}') FROM dropped
