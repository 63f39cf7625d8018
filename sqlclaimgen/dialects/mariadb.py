"""MariaDB 10.6 and newer."""

from __future__ import annotations

from sqlclaimgen.dialects.mysql import MySQL


class MariaDB(MySQL):
    """MariaDB: MySQL's names and types, and statements of its own where the two servers differ."""

    name = "mariadb"
    title = "MariaDB"
    floor = "10.6"
    folders = ("mariadb", "mysql", "common")
