-- open_index: there is one writer at a time, and every append compares the version of what is declared.
SELECT 1
