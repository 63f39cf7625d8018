"""What is wrong with the live tables of a queue: found before a worker's first claim, and by hand once
for each connection."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlclaimgen.runtime.drivers.servers import Server
from sqlclaimgen.runtime.drivers.servers.live import LiveTable
from sqlclaimgen.runtime.errors import ClaimError, SchemaMismatch, ServerUnfit
from sqlclaimgen.runtime.queue import Bound, Relation
from sqlclaimgen.runtime.steps import Protocol, Run

_NAME = r'(?:"(?:[^"]|"")*"|`(?:[^`]|``)*`)'
_CONFLICT = re.compile(rf"ON CONFLICT \(({_NAME})\)")
_INSERT = re.compile(rf"INSERT INTO ((?:{_NAME}\.)?{_NAME}) \(([^()]*)\)")

ROW_SECURITY = "row_security"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. `refuses`: rows could be lost, or be claimed by two; else it is a
    warning."""

    error: ClaimError
    refuses: bool


def of(bound: Bound, server: Server) -> Protocol[list[Finding]]:
    """Compare the live tables with the description: everything that is found. A table that is not there
    is left to the statements."""
    queue = bound.queue
    found: list[Finding] = []
    if queue.work is None:
        return found
    work = yield from server.live(queue.work)
    if work is not None:
        found += _readable(bound, queue.work, work)
        found += _columns(bound, server, queue.work, work)
        found += _identified(bound, queue.work, work)
        found += _deduped(bound, queue.work, work)
        found += _numbered_again(bound, queue.work, work)
        found += _times(bound, queue.work, work)
        found += _seen(bound, queue.work, work)
        found += _required(bound, queue.work, work, "enqueue")
    if queue.dead is not None:
        dead = yield from server.live(queue.dead)
        if dead is not None:
            found += _columns(bound, server, queue.dead, dead)
            found += _required(bound, queue.dead, dead, "dead_letter")
    return found


def pooled(bound: Bound, server: Server, told: int | None) -> Protocol[list[Finding]]:
    """Whether a pooler stands between the connection and its session, where the table's form holds rows by
    locks of the session. `told`: the session's number when the connection was opened."""
    if bound.queue.form != "advisory_lock" or server.session is None or told is None:
        return []
    result = yield Run("session", server.session, {})
    if int(result.rows[0][0]) == told:
        return []
    error = ServerUnfit(
        f"{bound.queue.table}: this connection leads through a pooler. The advisory lock form holds a row by "
        "a lock of its session: in transaction mode the pooler gives each transaction another one, two "
        "clients would get one row, and the outcome of the second would be ClaimLost. Connect to the server "
        "itself, or to a pool in session mode; or use the lease form.",
        table=bound.queue.table,
        setting="pool_mode",
    )
    return [Finding(error, refuses=False)]


def zone(bound: Bound, server: Server) -> Protocol[list[Finding]]:
    """What is wrong with the time zone of this session, where that matters to the table."""
    work = bound.queue.work
    if work is None:
        return []
    other = yield from server.other_zone()
    if other is None:
        return []
    live = yield from server.live(work)
    if live is None:
        return []
    columns = [
        column.name for column in live.columns if column.zoned and column.name in work.columns
    ]
    if not columns:
        return []
    column = columns[0]
    error = ServerUnfit(
        f"{work.title}, column {column}: it is a TIMESTAMP, which is written and read in the session's time "
        f"zone, and this session is at {other}: its leases and delays would be off by the difference. Run "
        "SET time_zone = '+00:00' on the connection, or give the column the type DATETIME(6) of the "
        "generated DDL.",
        table=bound.queue.table,
        setting="time_zone",
    )
    return [Finding(error, refuses=True)]


def _readable(bound: Bound, relation: Relation, live: LiveTable) -> Iterator[Finding]:
    if not live.datestyle.startswith("ISO"):
        error = ServerUnfit(
            f"{relation.title}: the session's DateStyle is {live.datestyle!r}, in which the driver reads no "
            "times. Set it to ISO for the role or the connection: ALTER ROLE .. SET datestyle = 'ISO', or "
            "options='-c datestyle=ISO'.",
            table=bound.queue.table,
            setting="DateStyle",
        )
        yield Finding(error, refuses=True)


def _columns(
    bound: Bound, server: Server, relation: Relation, live: LiveTable
) -> Iterator[Finding]:
    """Columns that are missing, where the server itself does not say so."""
    if not server.quotes_strings:
        return
    for name in relation.columns:
        if live.column(name) is None:
            yield _mismatch(
                bound,
                relation,
                name,
                f"the live table has no such column, and {server.title} takes its quoted name for a string: "
                "every row would hold the name itself",
                refuses=True,
            )


def _identified(bound: Bound, relation: Relation, live: LiveTable) -> Iterator[Finding]:
    """An id that names two rows: the settlement of one would delete the other."""
    if live.is_unique(relation.id):
        return
    id = live.column(relation.id)
    if live.view:
        yield _mismatch(
            bound,
            relation,
            relation.id,
            "the live table is a view: whether an id names one row cannot be told. Where it names two, a "
            "settlement is refused",
            refuses=False,
        )
    elif live.partitioned and id is not None and id.numbered and live.in_unique(relation.id):
        yield _mismatch(
            bound,
            relation,
            relation.id,
            "the live table is partitioned, and no unique index holds for the id alone: only the sequence "
            "that numbers the rows keeps two from having one id. Never write an id by hand; or partition "
            "the table by the id",
            refuses=False,
        )
    else:
        yield _mismatch(
            bound,
            relation,
            relation.id,
            "the live table has no unique index on this column alone: one id can name two rows, and the "
            "settlement of one would finish the other too. Create such an index, or describe another "
            "column as the id",
            refuses=True,
        )


def _deduped(bound: Bound, relation: Relation, live: LiveTable) -> Iterator[Finding]:
    """A dedupe key of a partitioned table, whose unique indexes have the partition's columns too."""
    key = _CONFLICT.search(bound.statements.get("enqueue", ""))
    if key is None or not live.partitioned:
        return
    name = _plain(key[1])
    if not live.is_unique(name):
        yield _mismatch(
            bound,
            relation,
            name,
            "the live table is partitioned by another column, and no unique index holds for the dedupe key "
            "alone: the database will refuse each enqueue, for nothing tells it whether a key is queued "
            "already. Partition the table by the key, or describe it without dedupe_key",
            refuses=False,
            statement="enqueue",
        )


def _numbered_again(bound: Bound, relation: Relation, live: LiveTable) -> Iterator[Finding]:
    """An id that comes again: the late settlement of the row that had it would end the new one."""
    named = _inserted(bound.statements.get("enqueue", ""), relation)
    if live.reuses and bound.queue.form == "advisory_lock" and relation.id not in (named or ()):
        yield _mismatch(
            bound,
            relation,
            relation.id,
            "the live column is no AUTOINCREMENT, so that a new row gets the id of the last one that was "
            "deleted: another process, whose lock of that row this one does not see, could settle the new "
            "row for it. Create the table with AUTOINCREMENT, as in the generated DDL, or use a lease",
            refuses=False,
        )
    chosen = relation.id in (named or ()) and bound.queue.id_kind != "uuid"
    if (
        chosen
        and bound.queue.form == "advisory_lock"
        and ":attempt" not in bound.statements.get("ack", "")
    ):
        yield _mismatch(
            bound,
            relation,
            relation.id,
            "producers choose the ids, and the table has no attempt column that a settlement could compare: "
            "where an id comes again after its row is gone, a late settlement would end the new row. Never "
            "use an id again, or add a column of role attempt",
            refuses=False,
        )


def _times(bound: Bound, relation: Relation, live: LiveTable) -> Iterator[Finding]:
    for name in relation.times:
        column = live.column(name)
        if column is not None and column.changes:
            yield _mismatch(
                bound,
                relation,
                name,
                "the live column has ON UPDATE CURRENT_TIMESTAMP, so that every claim, extension and "
                "settlement that does not write it moves it. Modify the column without that",
                refuses=True,
            )


def _seen(bound: Bound, relation: Relation, live: LiveTable) -> Iterator[Finding]:
    """Row level security shows a role without a policy an empty table."""
    if not live.unseen:
        return
    needed = [command for command in live.forbidden if command != "DELETE" or _deletes(bound)]
    if needed:
        why = f"no policy lets it see rows for {', '.join(needed)}: it would find the table empty"
    else:
        why = "its policies decide which rows it sees: the others wait, and are not counted"
    error = ServerUnfit(
        f"{relation.title}: row level security holds for this role, and {why}. Create a policy for the "
        "role, or give it BYPASSRLS.",
        table=bound.queue.table,
        setting=ROW_SECURITY,
    )
    yield Finding(error, refuses=bool(needed))


def _deletes(bound: Bound) -> bool:
    return bound.statements.get("ack", "").startswith("DELETE")


def _required(
    bound: Bound, relation: Relation, live: LiveTable, statement: str
) -> Iterator[Finding]:
    """Columns that an INSERT of ours would have to name."""
    named = _inserted(bound.statements.get(statement, ""), relation)
    if named is None:
        return
    have = {live.column(name) for name in named}
    for column in live.columns:
        if column.required and column not in have:
            yield _mismatch(
                bound,
                relation,
                column.name,
                f"it is NOT NULL and has no default, and the statement {statement} does not name it: the "
                "database will refuse it. Give the column a default, or describe it and build again",
                refuses=False,
                statement=statement,
            )


def _inserted(sql: str, relation: Relation) -> list[str] | None:
    """The columns that a statement names in its INSERT into a table; None: it has none."""
    for table, columns in _INSERT.findall(sql):
        if _plain(re.findall(_NAME, table)[-1]) == relation.name:
            return [_plain(name) for name in re.findall(_NAME, columns)]
    return None


def _plain(name: str) -> str:
    return name[1:-1].replace(name[0] * 2, name[0])


def _mismatch(
    bound: Bound,
    relation: Relation,
    column: str,
    why: str,
    *,
    refuses: bool,
    statement: str | None = None,
) -> Finding:
    named = statement or next(
        (name for name, sql in bound.statements.items() if _names(sql, column)), "claim"
    )
    error = SchemaMismatch(
        f"{relation.title}, column {column}: {why}.",
        table=bound.queue.table,
        statement=named,
        column=column,
    )
    return Finding(error, refuses)


def _names(sql: str, column: str) -> bool:
    return column in map(_plain, re.findall(_NAME, sql))
