"""Drivers, one module each: psycopg, PyMySQL and sqlite3 behind one small interface."""
