-- fenced_deliveries: messages of a group whose claims were fenced can be claimed again at once.
-- Locked in the order in which acks lock, so that neither waits for the other.
WITH locked AS MATERIALIZED (
    SELECT group_topic_id, position
    FROM ccc_deliveries
    WHERE group_topic_id = ANY ((SELECT %(places)s)::bigint[]) AND blocked_until IS NOT NULL AND claimed_by <> ''
    ORDER BY group_topic_id, position
    FOR UPDATE
)
UPDATE ccc_deliveries AS freed SET
    blocked_until = NULL, claimed_by = '', claimed_at = NULL, token = 0, attempts = 0, error = ''
FROM locked
WHERE freed.group_topic_id = locked.group_topic_id AND freed.position = locked.position
