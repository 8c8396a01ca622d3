-- log_contents: the same as log_range, of columns that tell what messages carry: without ids and times, which take long to write.
SELECT message.position, message.message_type, message.payload, message.shape
FROM ccc_messages AS message
WHERE message.position > CAST(%(after)s AS integer) AND message.position <= CAST(%(upto)s AS integer)
  AND message.appended_at || substr('.000000', length(message.appended_at) - 18) BETWEEN %(since)s AND %(until)s  -- seconds may be whole
ORDER BY message.position
