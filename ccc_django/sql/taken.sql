(SELECT nullif(current_setting('ccc_django.positions'), '')::bigint[] AS positions OFFSET 0) AS taken
