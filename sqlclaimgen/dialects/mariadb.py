"""MariaDB 10.6 and newer."""

from __future__ import annotations

import dataclasses

from sqlclaimgen.dialects.mysql import MySQL


class MariaDB(MySQL):
    """MariaDB: MySQL's names and types, and statements of its own where the two servers differ."""

    name = "mariadb"
    title = "MariaDB"
    floor = "10.6"
    limits = dataclasses.replace(MySQL.limits, long_unique=True)
    loading = 'mariadb "$DATABASE" < {path}'
    exact = "CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
    folders = ("mariadb", "mysql", "common")
