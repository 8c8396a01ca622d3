-- log_range: messages between two positions and two times, in their order, as bulk readers take them.
-- include: log_columns
FROM ccc_messages AS message
WHERE message.position > CAST(%(after)s AS integer) AND message.position <= CAST(%(upto)s AS integer)
  AND message.appended_at || substr('.000000', length(message.appended_at) - 18) BETWEEN %(since)s AND %(until)s  -- seconds may be whole
ORDER BY message.position
