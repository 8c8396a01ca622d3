-- without_jit: SQLite compiles nothing for long.
SELECT 1
