-- empty_journey: nothing, to see what it costs to ask.
SELECT 1
