-- lock_promotion: there is one writer at a time.
SELECT 1
