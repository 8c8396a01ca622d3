-- pass_batch: a batch of the log is open work, or its marking goes on from a place.
UPDATE ccc_consumer_groups SET
    watermark = max(watermark, %(watermark)s),
    marking_upto = %(upto)s,
    marking_number = %(number)s,
    marking_after = %(after)s,
    catch_up_to = CASE WHEN %(caught_up)s THEN 0 ELSE catch_up_to END,
    catch_up_types = CASE WHEN %(caught_up)s THEN '[]' ELSE catch_up_types END
WHERE id = %(id)s
