"""Management: the commands, doors to what the package does."""
