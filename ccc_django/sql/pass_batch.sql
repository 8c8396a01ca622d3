-- pass_batch: a batch of the log is open work, or its marking goes on from a place.
UPDATE ccc_consumer_groups SET
    watermark = greatest(watermark, (SELECT %(watermark)s::bigint)),
    marking_upto = (SELECT %(upto)s::bigint),
    marking_number = (SELECT %(number)s::int),
    marking_after = (SELECT %(after)s::bigint),
    catch_up_to = CASE WHEN (SELECT %(caught_up)s::boolean) THEN 0 ELSE catch_up_to END,
    catch_up_types = CASE WHEN (SELECT %(caught_up)s::boolean) THEN '[]' ELSE catch_up_types END
WHERE id = (SELECT %(id)s::bigint)
