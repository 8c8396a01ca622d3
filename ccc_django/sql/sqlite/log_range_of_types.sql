-- log_range_of_types: the same of some types, each found in its own part of an index, and of some topics.
-- include: log_columns
FROM (SELECT DISTINCT value AS name FROM json_each(%(types)s)) AS wanted
CROSS JOIN ccc_messages AS message INDEXED BY ccc_messages_type
WHERE message.message_type = wanted.name
  AND message.position > CAST(%(after)s AS integer) AND message.position <= CAST(%(upto)s AS integer)
  AND message.appended_at || substr('.000000', length(message.appended_at) - 18) BETWEEN %(since)s AND %(until)s  -- seconds may be whole
  AND (%(topics)s = '' OR message.topic IN (SELECT value FROM json_each(iif(%(topics)s = '', '[]', %(topics)s))))
