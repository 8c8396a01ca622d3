-- commit: end the transaction in the journey of its last statement; Django then finds nothing left to commit.
COMMIT
