-- session_state: whether a session gets anything now; no row if it is not this one's any more.
SELECT
    (known.status = 'active' OR coalesce(known.retry_at <= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'), 0)) AND NOT EXISTS (
        SELECT 1 FROM ccc_topic_subscriptions AS subscription
        WHERE subscription.group_name = known.name AND subscription.partition_key = '' AND subscription.status <> 'ACTIVE'
    )
FROM ccc_offsets AS place
JOIN ccc_consumer_groups AS known ON known.id = place.group_id
WHERE place.id = %(id)s AND place.token = %(token)s AND known.epoch = %(epoch)s
