"""Claims, leases and settlements for your own work tables, generated as SQL and typed Python."""

__version__ = "0.1.0"
