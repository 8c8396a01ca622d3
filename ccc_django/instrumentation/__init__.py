"""Instrumentation: what operators look at, for commands, admin, views and API alike."""
