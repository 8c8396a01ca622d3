-- lock_shared_group: there is one writer at a time.
SELECT id, handled_types FROM ccc_consumer_groups WHERE name = %(name)s AND kind = 'shared'
