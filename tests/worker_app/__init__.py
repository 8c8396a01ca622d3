"""An app with consumers that real worker processes run."""
