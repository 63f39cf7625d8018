"""PostgreSQL at start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from sqlclaimgen.runtime.drivers.servers.base import Ends, Server, Timeout
from sqlclaimgen.runtime.drivers.servers.live import LiveColumn, LiveTable
from sqlclaimgen.runtime.placeholders import names, replaced
from sqlclaimgen.runtime.queue import Relation
from sqlclaimgen.runtime.steps import Protocol, Run

_ENDS = {
    "idle_session_timeout": Ends.IDLE_OUTSIDE,  # 14 and newer
    "idle_in_transaction_session_timeout": Ends.IDLE_INSIDE,
    "transaction_timeout": Ends.TRANSACTION,  # 17 and newer
}
_INTEGERS = frozenset({20, 21, 23})
_NOT_KNOWN = "SQL_ASCII"
_UNDEFINED_COLUMN = "42703"
_FORBIDDEN = "42501"
_ASSIGNED = "42804"
"""A value of a type that the column does not take; the message quotes the column first."""
_COMPARED = ("42883", "42846", "22P02")
"""No such operator or function, a cast that does not exist or fails."""
_QUOTED = re.compile(r"[\"«„“]([^\"»“”]+)[\"»“”]")
_NAME = r'(?:"(?:[^"]|"")*"|[\w$]+)'
_COLUMN = re.compile(rf"{_NAME}(?:\.{_NAME})*")

_COLUMNS = """\
SELECT a.attname, format_type(a.atttypid, a.atttypmod),
    a.attnotnull AND NOT a.atthasdef AND a.attidentity = '',
    a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%',
    c.relkind, row_security_active(c.oid), current_setting('datestyle')
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE c.oid = to_regclass(CAST(:table AS text))"""
_UNIQUE = """\
SELECT i.indexrelid, a.attname
FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid
    AND a.attnum = ANY((CAST(i.indkey AS smallint[]))[0 : i.indnkeyatts - 1])
WHERE i.indrelid = to_regclass(CAST(:table AS text)) AND i.indisunique AND i.indisvalid
    AND i.indpred IS NULL AND i.indexprs IS NULL"""
_POLICIES = """\
SELECT DISTINCT p.polcmd FROM pg_policy AS p
WHERE p.polrelid = to_regclass(CAST(:table AS text)) AND p.polpermissive
    AND EXISTS (SELECT FROM unnest(p.polroles) AS r(oid)
        WHERE r.oid = 0 OR pg_has_role(current_user, r.oid, 'USAGE'))"""
_COMMANDS = {"SELECT": "r", "UPDATE": "w", "DELETE": "d"}


class Postgres(Server):
    """PostgreSQL."""

    dialect = "postgres"
    title = "PostgreSQL"
    floor = (11,)
    needs = (
        "hashtextextended, by which advisory locks are taken, and they are tested on no older one"
    )
    session = "SELECT pg_backend_pid()"
    clock = "SELECT clock_timestamp()"
    version_query = "SHOW server_version"
    # not pg_stat_activity: a transaction sees it as it was when it looked first
    blocked = (
        "SELECT w.pid FROM pg_locks AS w JOIN pg_locks AS h ON h.transactionid = w.transactionid "
        "WHERE NOT w.granted AND h.granted AND h.pid = pg_backend_pid()"
    )
    notifies = True
    # timestamptz alone: a time without a zone means another moment on each host
    holds: ClassVar[Mapping[str, frozenset[int]]] = {
        "timestamp": frozenset({1184}),
        **dict.fromkeys(("smallint", "int", "bigint"), _INTEGERS),
    }

    def unencoded(self) -> Protocol[tuple[str, str] | None]:
        sql = "SELECT current_setting('server_encoding'), current_setting('client_encoding')"
        result = yield Run("encoding", sql, {})
        # SQL_ASCII is "not known": psycopg leaves the decoding to whoever asked
        server, client = (_text(value) for value in result.rows[0])
        if client != _NOT_KNOWN:
            return None
        setting = f"client_encoding = {client}, server_encoding = {server}"
        if server != _NOT_KNOWN:
            return setting, "Leave PGCLIENTENCODING and client_encoding out, or set them to UTF8."
        return setting, (
            "Make the database anew with ENCODING 'UTF8'; or, where all its text is UTF-8, connect with "
            'psycopg.connect(.., client_encoding="UTF8").'
        )

    def timeouts(self) -> Protocol[list[Timeout]]:
        # a view, not SHOW: a server that is too old for a setting has no row, and no error
        listed = ", ".join(f"'{name}'" for name in _ENDS)
        result = yield Run(
            "timeouts",
            f"SELECT name, CAST(setting AS bigint) FROM pg_settings WHERE name IN ({listed})",
            {},
        )
        return [
            Timeout(name, milliseconds / 1000, _ENDS[name])
            for name, milliseconds in result.rows
            if milliseconds > 0
        ]

    def told(self, connection: Any) -> int | None:
        return int(connection.info.backend_pid)

    def live(self, relation: Relation) -> Protocol[LiveTable | None]:
        parts = (relation.schema, relation.name) if relation.schema else (relation.name,)
        given = {"table": ".".join(_quoted(part) for part in parts)}
        result = yield Run("live_columns", _COLUMNS, given)
        if not result.rows:
            return None
        kind, unseen, datestyle = (_text(value) for value in result.rows[0][4:])
        found = LiveTable(
            [
                LiveColumn(_text(name), _text(type), bool(required), bool(numbered))
                for name, type, required, numbered, *_ in result.rows
            ],
            view=kind not in ("r", "p"),
            partitioned=kind == "p",
            unseen=bool(unseen),
            datestyle=str(datestyle),
        )
        result = yield Run("live_indexes", _UNIQUE, given)
        found.index((index, _text(column)) for index, column in result.rows)
        if found.unseen:
            result = yield Run("live_policies", _POLICIES, given)
            allowed = {_text(row[0]) for row in result.rows}
            found.forbidden = [
                command
                for command, letter in _COMMANDS.items()
                if "*" not in allowed and letter not in allowed
            ]
        return found

    def fits(self, statement: str, sql: str, parameters: Mapping[str, Any]) -> Protocol[None]:
        yield Run(statement, _explained(sql), parameters)

    def forbids(self, error: BaseException | None) -> bool:
        return getattr(error, "sqlstate", None) == _FORBIDDEN

    def column(self, sql: str, error: BaseException | None) -> str | None:
        diag: Any = getattr(error, "diag", None)
        code = getattr(error, "sqlstate", None)
        if code == _ASSIGNED:
            quoted = _QUOTED.search(str(diag.message_primary))
            return quoted[1] if quoted else None
        position = getattr(diag, "statement_position", None)
        if position is None:
            return None
        # as psycopg sent it: the position counts there
        numbers = {name: n for n, name in enumerate(names(sql), 1)}
        sent = replaced(_explained(sql), lambda name: f"${numbers[name]}")
        at = int(position) - 1
        if code == _UNDEFINED_COLUMN:
            found = _COLUMN.match(sent, at)
            return _plain(re.findall(_NAME, found[0])[-1]) if found else None
        if code not in _COMPARED:
            return None
        # the error is at an operator or a value: the column stands before it
        before = re.findall(r'"(?:[^"]|"")*"', sent[:at])
        return _plain(before[-1]) if before else None


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _explained(sql: str) -> str:
    return f"EXPLAIN {sql}"


def _plain(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
