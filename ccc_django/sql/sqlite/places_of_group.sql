-- places_of_group: the topics of a shared group whose messages are delivered, and how far deliveries are made.
SELECT place.id, place.topic, place.watermark
FROM ccc_group_topics AS place
JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
WHERE place.group_id = %(group)s AND subscription.status = 'ACTIVE' AND place.watermark < %(upto)s
