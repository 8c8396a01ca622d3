-- carried_values: the next messages of the log, with the values that partitions are made of.
WITH batch AS MATERIALIZED (
    SELECT position, message_type
    FROM ccc_messages
    WHERE position > (SELECT %(after)s::bigint) AND position <= (SELECT %(upto)s::bigint)
      AND ((SELECT %(every)s::boolean) OR message_type = ANY ((SELECT %(types)s)::text[]))
      AND ((SELECT %(topics)s::text[]) IS NULL OR topic = ANY ((SELECT %(topics)s)::text[]))
    ORDER BY position
    LIMIT (SELECT %(most)s::int)
)
SELECT batch.position, batch.message_type, carried.key_pair, carried.name, carried.value
FROM batch
LEFT JOIN LATERAL (
    SELECT entry.key_pair, pair.name, pair.value
    FROM ccc_message_key_pairs AS entry
    CROSS JOIN LATERAL (  -- min: each is probed by its digest, which may be there twice
        SELECT min(name) AS name, min(value) AS value FROM ccc_key_pairs WHERE digest = entry.key_pair
    ) AS pair
    WHERE entry.position = batch.position AND pair.name = ANY ((SELECT %(names)s)::text[])
      AND EXISTS (  -- by the message's own class, as fetch and guard see it; not by an index that was declared
          SELECT FROM ccc_shapes AS shape WHERE shape.digest = entry.shape AND shape.names ? pair.name
      )
    OFFSET 0
) AS carried ON true
ORDER BY batch.position
