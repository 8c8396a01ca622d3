-- evolved_types: types whose history some group reads again, whatever topics it gets.
SELECT evolved_types::text FROM ccc_consumer_groups WHERE evolved_types::text <> '[]'
