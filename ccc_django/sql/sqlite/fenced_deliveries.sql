-- fenced_deliveries: messages of a group whose claims were fenced can be claimed again at once.
UPDATE ccc_deliveries SET
    blocked_until = NULL, claimed_by = '', claimed_at = NULL, token = 0, attempts = 0, error = ''
WHERE group_topic_id IN (SELECT value FROM json_each(%(places)s)) AND blocked_until IS NOT NULL AND claimed_by <> ''
