-- mark_offset: a partition has open work between two positions, unless it has passed it.
UPDATE ccc_offsets SET
    next_position = min(coalesce(next_position, 9223372036854775807), max(?2, last_position + 1)),
    head_position = max(head_position, ?3)
WHERE id = ?1 AND ?3 > last_position
