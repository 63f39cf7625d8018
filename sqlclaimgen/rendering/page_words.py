"""What a page says of a table in sentences: what each form promises, and what it was set to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.model import DeadLetterGroup, DeadLetterTable, Form, Role
from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.rendering.markdown import code, listed
from sqlclaimgen.statements import retrying

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlclaimgen.description.model import Retry, Table

_HOW = {
    Form.ROW_LOCK: "The claim opens a transaction and locks its row with `FOR UPDATE SKIP LOCKED` "
    "(on PostgreSQL `FOR NO KEY UPDATE`); others pass over it. The transaction stays open while the "
    "handler runs, and the settlement commits it. Long handlers hold back vacuum and DDL. A handler "
    "that writes its own row over another connection waits for itself: on MySQL and MariaDB until "
    "`innodb_lock_wait_timeout` ends its statement, on PostgreSQL for ever unless `lock_timeout` is set.",
    Form.LEASE: "The claim writes an expiry into {locked_until} and commits at once. The expiry is "
    "the delivery's token: every later write names it, and takes effect only while the row still "
    "holds it. A worker moves it on each half lease, so a handler may run longer than the lease.",
    Form.ADVISORY_LOCK: "The claim takes the lock on the row's key, {key}, on a connection of its "
    "own and without waiting, then reads the row again and commits. The connection keeps the lock "
    "until the settlement has committed. Rows with the same key run one at a time. A key belongs to "
    "the database, not to the table: two tables whose keys match wait for each other.",
}

_CRASH = {
    Form.ROW_LOCK: "A crash does not spend an attempt: its rollback undoes everything.",
    Form.LEASE: "A crash spends an attempt, and the row is due again when its lease runs out.",
    Form.ADVISORY_LOCK: "A crash spends an attempt, and the row is due again "
    "when the server has noticed that the session is gone.",
}

_DELIVERY = {
    Form.ROW_LOCK: "1, in an open transaction",
    Form.LEASE: "0",
    Form.ADVISORY_LOCK: "1, without a transaction",
}

_NOTICED = (
    "when the server notices that the session is gone: at once for a killed process; for a host that "
    "vanished after a TCP keepalive, which takes about two hours with the defaults of Linux"
)


def finishing(table: Table) -> str:
    """What becomes of a finished row."""
    status, time = table.column(Role.STATUS), table.column(Role.PROCESSED_AT)
    if status is not None:
        marked = f"marked in {code(status.name)}"
        return f"A finished row stays, {marked}{' with its time' if time else ''}."
    if time is not None:
        return f"A finished row stays, with its time in {code(time.name)}."
    return "A finished row is deleted."


def held(table: Table) -> dict[str, str]:
    """How the form holds a row, and for what price."""
    token = table.column(Role.LOCKED_UNTIL)
    how = _HOW[table.form].format(
        locked_until=code(token.name) if token else "",
        key=code(table.advisory_lock.source) if table.advisory_lock else "",
    )
    crash = _CRASH[table.form] if table.has(Role.ATTEMPT) else "Attempts are not counted."
    return {"how": how, "crash": crash, "delivery": _DELIVERY[table.form]}


def crashes(table: Table) -> Iterator[tuple[str, str, str]]:
    """What happens when a process or its session dies, step by step."""
    spent = ", one attempt spent" if table.has(Role.ATTEMPT) else ""
    if table.form is Form.ROW_LOCK:
        yield ("before the handler starts", "rolls back", "due, as if nobody had asked")
        yield ("while the handler runs", f"rolls back, {_NOTICED}", "due then, no attempt spent")
        yield ("during the settlement", "rolls back", "due then, no attempt spent")
        yield ("COMMIT sent, no answer", "has committed or rolled back", "settled, or due then")
        return
    yield ("before the claim's COMMIT", "rolls back", "due, as if nobody had asked")
    if table.form is Form.LEASE:
        due = f"due when its lease runs out, at most {table.lease} s later{spent}"
        yield ("after it, before the handler starts", "nothing", due)
        yield ("while the handler runs", "nothing", due)
        yield (
            "its extensions fail until another claim has the row",
            "refuses the settlement: the token is another's",
            "the second delivery's; the first is told `LeaseLost`",
        )
        yield ("during the settlement", "rolls back", due)
        yield (
            "COMMIT sent, no answer",
            "has committed or rolled back",
            f"settled, or {due}; `SettlementUnknown` where it cannot be told",
        )
        return
    yield ("after it, before the handler starts", f"drops the lock, {_NOTICED}", f"due{spent}")
    yield ("while the handler runs", f"drops the lock, {_NOTICED}", f"due then{spent}")
    yield ("during the settlement", "rolls back, drops the lock", f"due then{spent}")
    yield (
        "after the settlement's COMMIT, before the key is free",
        "drops the lock with the session",
        "settled; the key is free",
    )


def settings(table: Table) -> Iterator[tuple[str, str]]:
    """What the description says, defaults filled in."""
    if table.form is Form.LEASE:
        yield ("lease", f"{table.lease} s")
        yield ("clock", f"the {table.clock}'s")
    if table.advisory_lock:
        yield ("key", code(table.advisory_lock.source))
    yield ("claims", listed([_CLAIMS[claim] for claim in table.claims]))
    yield ("claim order", _order(table))
    if table.fifo:
        yield ("groups", _FIFO[table.fifo])
    if table.where:
        yield ("a claim also asks", code(table.where))
    most = table.max_attempts
    yield ("attempts", "not limited" if most is None else f"{most}, then a dead letter")
    yield ("dead letters", _dead_letters(table))
    yield ("after a failure", _retry(table.retry, table))
    if table.isolation:
        yield ("isolation", code(table.isolation.upper()))


_CLAIMS = {"group": "of one group", "table": "of the whole table"}
_FIFO = {
    "strict": "in order, one row in work; a head that is not due holds its group",
    "due": "in order, one row in work; a delayed row lets the others pass",
}


def _order(table: Table) -> str:
    roles = [Role.PRIORITY, Role.RETRY_AFTER, Role.ID]
    if table.fifo == "strict":
        roles.remove(Role.RETRY_AFTER)
    named = (table.column(role) for role in roles)
    return ", ".join(code(column.name) for column in named if column is not None)


def _dead_letters(table: Table) -> str:
    match table.dead_letter:
        case DeadLetterTable(name, schema):
            return f"in the table {code(f'{schema}.{name}' if schema else name)}"
        case DeadLetterGroup(group):
            origin = table.column(Role.ORIGIN)
            kept = f", the group they came from in {code(origin.name)}" if origin else ""
            return f"in the group {code(str(group))}{kept}"
        case None:
            status = table.column(Role.STATUS)
            return f"marked in {code(status.name)}" if status else "none"


def _retry(retry: Retry | None, table: Table) -> str:
    if retry is None or retry.backoff == "none":
        return f"due again now, {retrying.place(table)}"
    grows = {
        "constant": f"due again after {retry.base} s",
        "linear": f"due again after {retry.base} s times the attempt",
        "exponential": f"due again after {retry.base} s, doubled each time",
    }[retry.backoff]
    jitter = f", give or take {retry.jitter:.0%}" if retry.jitter else ""
    return grows + jitter + ("" if retry.backoff == "constant" else f", at most {retry.max} s")


_REFUSED_CLAIM = {
    Form.LEASE: "The claim writes all its rows with one statement, or one after the other in one "
    "transaction. When the database refuses one of them, the claim is rolled back and made again in "
    "halves: about 2 log2(n) statements more for one refused row of n. The refused row alone is left out.",
    Form.ROW_LOCK: "The claim writes nothing, so nothing of it is refused.",
    Form.ADVISORY_LOCK: "The claim takes one row. One that the database refuses is left out, and the claim "
    "looks for the next: one statement more for each.",
}
_REFUSED_OUTCOME = {
    Form.LEASE: "Extensions and settlements that a worker gathered in one transaction are made one by one, "
    "a transaction each, when one of them is refused. The refused row keeps its lease and is claimed again "
    "when that has run out.",
    Form.ROW_LOCK: "A refused outcome is rolled back with its transaction",
    Form.ADVISORY_LOCK: "A refused outcome is rolled back",
}
_DELAYED = {
    Form.ROW_LOCK: "; in place of a refused retry or dead letter the row is delayed",
    Form.ADVISORY_LOCK: "; in its place the row is delayed",
}


def refused(table: Table) -> Iterator[str]:
    """What becomes of a row that the database refuses to write, and what it costs the others."""
    yield (
        "A row that the database refuses to write, for a foreign key, a trigger or a constraint, does not "
        f"stop the others. {_REFUSED_CLAIM[table.form]}"
    )
    if table.fifo == "strict":
        yield "The rows behind it in its group wait with it; the other groups go on."
    outcome = _REFUSED_OUTCOME[table.form]
    if table.form is not Form.LEASE:
        delayed = _DELAYED[table.form] if table.column(Role.RETRY_AFTER) else ""
        kept = (
            "The worker leaves the row out of its claims for its `max_backoff`; others may try it."
        )
        outcome += f"{delayed}. {kept}"
    yield outcome
    yield (
        "Each is reported with its id and the database's words, as the event `unsettled` and an ERROR in "
        "the log. `stats` counts such rows as due, delayed or leased."
    )
    if table.column(Role.STATUS) is None and table.column(Role.PROCESSED_AT) is None:
        yield "Rows are deleted here: a foreign key with `ON DELETE CASCADE` deletes what refers to them."


def creating(table: Table) -> str:
    """What to know before the DDL is run."""
    said = "The DDL is for a new table; run it before the first consumer starts."
    schemas = [table.schema] if table.schema else []
    if isinstance(table.dead_letter, DeadLetterTable) and table.dead_letter.schema:
        schemas.append(table.dead_letter.schema)
    if schemas:
        names = listed([code(name) for name in dict.fromkeys(schemas)])
        said += f" It does not create {names}."
    costs = "a claim without its index reads the whole table"
    naming = [DIALECTS[name].title for name in table.dialects if DIALECTS[name].forced("i")]
    if naming:
        elsewhere = f"; elsewhere {costs}" if len(naming) < len(table.dialects) else ""
        refuse = f"{listed(naming)} refuse{'' if naming[1:] else 's'}"
        costs = f"{refuse} a claim whose index is missing or has another name{elsewhere}"
    return f"{said} The indexes are part of it: {costs}."
