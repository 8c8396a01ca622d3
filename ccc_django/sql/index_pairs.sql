pair AS MATERIALIZED (  -- ids as hex_digest() makes them, and the shape that a message's other entries have
    SELECT
        carried.position, carried.message_type, carried.text,
        encode(substring(sha256(convert_to(concat(
            octet_length((SELECT %(name)s::text)), ':', (SELECT %(name)s::text), octet_length(carried.text), ':', carried.text
        ), 'UTF8')) FROM 1 FOR 16), 'hex')::uuid AS digest,
        own.shape,
        coalesce(own.shape, (
            'x' || encode(sha256(convert_to(concat(octet_length(carried.message_type), ':', carried.message_type), 'UTF8')), 'hex')
        )::bit(64)::bigint >> 1 & 9223372036854775807) AS any_shape
    FROM carried
    CROSS JOIN LATERAL (
        SELECT min(entry.shape) AS shape FROM (
            SELECT shape FROM ccc_message_key_pairs WHERE position = carried.position LIMIT 1
        ) AS entry
    ) AS own
), named AS (
    INSERT INTO ccc_key_pairs (digest, name, value)
    SELECT new.digest, (SELECT %(name)s::text), new.text
    FROM (SELECT DISTINCT digest, text FROM pair) AS new
    CROSS JOIN LATERAL (SELECT count(*) FROM ccc_key_pairs AS key_pair WHERE key_pair.digest = new.digest) AS known(times)
    WHERE known.times = 0
), shaped AS (
    INSERT INTO ccc_shapes (digest, message_type, names)
    SELECT new.any_shape, new.message_type, '[]'
    FROM (SELECT DISTINCT any_shape, message_type FROM pair WHERE shape IS NULL) AS new
    CROSS JOIN LATERAL (SELECT count(*) FROM ccc_shapes AS stored WHERE stored.digest = new.any_shape) AS known(times)
    WHERE known.times = 0
), indexed AS (  -- what is there already was appended by somebody who knew the index, and is final: nobody waits
    INSERT INTO ccc_message_key_pairs (key_pair, shape, position)
    SELECT digest, any_shape, position FROM pair
    ON CONFLICT DO NOTHING
    RETURNING 1
)
SELECT count(*) FROM indexed
