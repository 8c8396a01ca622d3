-- places_of_group: the topics of a shared group whose messages are delivered, how far deliveries are made, and how many may be.
-- Of what was there before the group came, no more a second than somebody wants: those since the last time.
SELECT id, topic, watermark, most
FROM (
    SELECT
        place.id, place.topic, place.watermark,
        CASE
            WHEN place.backfill_rate IS NULL OR place.watermark >= place.backfill_upto THEN %(most)s
            ELSE min(%(most)s, CAST(place.backfill_rate * coalesce(
                (julianday('now') - julianday(place.backfilled_at)) * 86400.0, 1.0
            ) AS integer))
        END AS most
    FROM ccc_group_topics AS place
    JOIN ccc_topic_subscriptions AS subscription ON subscription.id = place.subscription_id
    WHERE place.group_id = %(group)s AND subscription.status = 'ACTIVE' AND place.watermark < %(upto)s
)
WHERE most > 0
