-- insert_messages: rows of the log, at the positions taken.
INSERT INTO ccc_messages (
    position, message_id, message_type, version, topic, payload, metadata, correlation_id, causation_id, created_at, shape
)
SELECT
    taken.positions[message.n], message.id, message.type, message.version, message.topic, message.payload::jsonb,
    message.metadata::jsonb, message.correlation_id, message.causation_id, message.created_at,
    message.shape
FROM
-- include: taken
, unnest(
    (SELECT %(ids)s::uuid[]), (SELECT %(message_types)s::text[]), (SELECT %(versions)s::int[]), (SELECT %(topics)s::text[]), (SELECT %(payloads)s::text[]),
    (SELECT %(metadata)s::text[]), (SELECT %(correlation_ids)s::uuid[]), (SELECT %(causation_ids)s::uuid[]), (SELECT %(created_at)s::timestamptz[]),
    (SELECT %(shapes)s::bigint[])
) WITH ORDINALITY AS message(id, type, version, topic, payload, metadata, correlation_id, causation_id, created_at, shape, n)
WHERE taken.positions IS NOT NULL
RETURNING position, appended_at
