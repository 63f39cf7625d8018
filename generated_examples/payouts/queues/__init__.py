# From tables.toml: edit that and run `sqlclaimgen build`.
"""Consumers of the work tables, a module each."""
