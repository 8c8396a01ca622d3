-- old_of_topic: of a range of a topic's messages, whether any is old, and the first that is not.
SELECT coalesce(max(is_old), 0), min(CASE WHEN NOT is_old THEN position END)
FROM (
    SELECT position, appended_at < strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %(age)s) AS is_old
    FROM ccc_messages
    WHERE topic = %(topic)s AND position > %(after)s AND position <= %(upto)s
)
