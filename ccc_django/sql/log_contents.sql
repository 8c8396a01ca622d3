-- log_contents: the same as log_range, of columns that tell what messages carry: without ids and times, which take long to write.
SELECT message.position, message.message_type, message.payload::text, message.shape
FROM ccc_messages AS message
WHERE message.position > (SELECT %(after)s::bigint) AND message.position <= (SELECT %(upto)s::bigint)
  AND message.appended_at + interval '0' BETWEEN (SELECT %(since)s::timestamptz) AND (SELECT %(until)s::timestamptz)  -- not by its index
ORDER BY message.position
