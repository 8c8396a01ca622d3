CASE jsonb_typeof(found.value)  -- the text of a stored value, as canonical_text() makes it
    WHEN 'string' THEN 's:' || (found.value #>> '{}')
    WHEN 'boolean' THEN 'b:' || found.value::text
    WHEN 'number' THEN CASE WHEN strpos(found.value::text, '.') > 0 THEN 'f:' ELSE 'i:' END || found.value::text
    WHEN 'null' THEN CASE WHEN (SELECT %(nulls)s::boolean) THEN 'n:null' END
END
