-- share_topics: nobody prunes these topics, or any, until the transaction ends; nobody else waits, nor do they for each other.
SELECT id
FROM ccc_topics
WHERE (SELECT %(every)s::boolean) OR name = ANY ((SELECT %(names)s)::text[])
ORDER BY id
FOR KEY SHARE
