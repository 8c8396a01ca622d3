-- insert_delivery: a message is open for a shared group; a dead letter on its way is so already.
INSERT INTO ccc_deliveries (group_topic_id, position) VALUES (%s, %s) ON CONFLICT DO NOTHING
