-- messages_at: messages by their positions.
WITH found AS MATERIALIZED (
    SELECT position FROM unnest((SELECT %(positions)s::bigint[])) AS wanted(position)
)
-- include: message_columns
