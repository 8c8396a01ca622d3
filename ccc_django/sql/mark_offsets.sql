-- mark_offsets: partitions have open work between two positions, unless they have passed it.
UPDATE ccc_offsets AS known SET
    next_position = least(known.next_position, greatest(mark.low, known.last_position + 1)),
    head_position = greatest(known.head_position, mark.high)
FROM unnest((SELECT %(ids)s::bigint[]), (SELECT %(lows)s::bigint[]), (SELECT %(highs)s::bigint[])) AS mark(id, low, high)
WHERE known.id = mark.id AND mark.high > known.last_position
  AND (  -- what changes nothing is not written again
      known.next_position IS NULL OR known.head_position < mark.high
      OR known.next_position > greatest(mark.low, known.last_position + 1)
  )
