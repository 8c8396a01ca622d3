"""An app whose consumers get topics."""
