"""Our own consumers, as an app of a project: in batches, message by message, and one message for each partition."""
