-- open_appends: nobody else writes meanwhile.
SELECT %(key)s WHERE false
