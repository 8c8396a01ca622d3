-- lock_topics: become the one writer.
UPDATE ccc_topics SET id = id WHERE false
