-- lock_append: become the one writer before anything is looked at, also where transactions start as readers.
UPDATE ccc_messages SET position = position WHERE false
