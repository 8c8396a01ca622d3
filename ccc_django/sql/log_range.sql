-- log_range: messages between two positions and two times, in their order, as bulk readers take them.
-- include: log_columns
FROM ccc_messages AS message
WHERE message.position > (SELECT %(after)s::bigint) AND message.position <= (SELECT %(upto)s::bigint)
  AND message.appended_at + interval '0' BETWEEN (SELECT %(since)s::timestamptz) AND (SELECT %(until)s::timestamptz)  -- not by its index
ORDER BY message.position
