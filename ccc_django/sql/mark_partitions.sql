-- mark_partitions: offsets of partitions that messages name in full: made where they are missing, woken where they are not.
WITH seen AS (
    INSERT INTO ccc_offsets AS known (
        group_id, partition_id, partition_key, key_pairs, last_position, next_position, head_position
    )
    SELECT
        (SELECT %(group)s::bigint), new.id, new.key, new.pairs::uuid[], (SELECT %(last)s::bigint),
        CASE WHEN new.high > (SELECT %(last)s::bigint) THEN greatest(new.low, (SELECT %(last)s::bigint) + 1) END,
        coalesce(new.high, 0)
    FROM unnest(
        (SELECT %(ids)s::uuid[]), (SELECT %(keys)s::text[]), (SELECT %(pairs)s::text[]), (SELECT %(lows)s::bigint[]),
        (SELECT %(highs)s::bigint[])
    ) AS new(id, key, pairs, low, high)
    ON CONFLICT (group_id, partition_id) DO UPDATE SET
        next_position = least(known.next_position, CASE  -- one that was put before the group's place begins at its own
            WHEN excluded.last_position > known.last_position THEN known.last_position + 1
            ELSE greatest(excluded.next_position, known.last_position + 1)
        END),
        head_position = greatest(known.head_position, excluded.head_position)
    WHERE excluded.head_position > known.last_position
      AND (  -- what changes nothing is not written again
          known.next_position IS NULL OR known.head_position < excluded.head_position
          OR known.next_position > CASE
              WHEN excluded.last_position > known.last_position THEN known.last_position + 1
              ELSE greatest(excluded.next_position, known.last_position + 1)
          END
      )
    RETURNING id, key_pairs, xmax = 0 AS is_new
), named AS (
    INSERT INTO ccc_offset_key_pairs (group_id, key_pair, offset_id)
    SELECT (SELECT %(group)s::bigint), pair, seen.id
    FROM seen, unnest(seen.key_pairs) AS pair
    WHERE seen.is_new
)
SELECT id FROM seen WHERE is_new
