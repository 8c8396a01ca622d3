-- claim_delivery: give a message of a shared group to a worker.
UPDATE ccc_deliveries SET
    claimed_by = %s, claimed_at = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'),
    blocked_until = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %s), token = %s, attempts = attempts + 1
WHERE group_topic_id = %s AND position = %s
