-- pass_place: deliveries of a topic are made up to a position.
UPDATE ccc_group_topics SET
    watermark = %(position)s, is_touched = is_touched OR %(has_some)s,
    backfilled_at = CASE
        WHEN backfill_rate IS NULL THEN backfilled_at ELSE strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')
    END
WHERE id = %(id)s
