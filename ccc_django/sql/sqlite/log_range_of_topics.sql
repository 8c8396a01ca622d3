-- log_range_of_topics: the same of some topics, whatever their type.
-- include: log_columns
FROM (SELECT DISTINCT value AS name FROM json_each(%(topics)s)) AS wanted
CROSS JOIN ccc_messages AS message INDEXED BY ccc_messages_topic
WHERE message.topic = wanted.name
  AND message.position > CAST(%(after)s AS integer) AND message.position <= CAST(%(upto)s AS integer)
  AND message.appended_at || substr('.000000', length(message.appended_at) - 18) BETWEEN %(since)s AND %(until)s  -- seconds may be whole
