-- head_holders: nobody, as everything visible is final; a writer keeps other writers waiting, and no reader.
SELECT NULL, '', NULL, 0.0, 0 WHERE false
