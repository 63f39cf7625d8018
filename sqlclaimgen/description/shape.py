"""The shape of a description file: its keys and the types of their values, and nothing more.

Titles and descriptions here are what an editor shows (schemas/tables.schema.json) and what
docs/tables-toml.md says.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from sqlclaimgen.description.column_shape import ColumnShape, DialectName, Shape
from sqlclaimgen.description.model import Form
from sqlclaimgen.description.values import Duration, NameOrFalse, OneOf, Scalar


class OutputShape(Shape):
    """Where the generated files go: folders, relative to this file."""

    sql: str = Field(
        default="sql",
        description="Folder of the SQL: `<dialect>/<table>.ddl.sql` and `<dialect>/<table>.sql`.",
        examples=["sql"],
    )
    python: str = Field(
        default="queues",
        description="Folder of the Python modules, one for each table: `<table>.py`.",
        examples=["queues", "src/app/queues"],
    )
    docs: str = Field(
        default="docs/queues",
        description="Folder of the pages, one for each table: `<table>.md`.",
        examples=["docs/queues"],
    )
    runtime: Annotated[str, OneOf(("package", "vendored"))] = Field(
        default="package",
        description=(
            "`package`: the modules import sqlclaimgen.runtime. `vendored`: a copy of it is"
            " written beside them, and nothing has to be installed."
        ),
    )


class DeadLetterShape(Shape):
    """Where rows go that are given up: another table, or a group of this one."""

    table: str | None = Field(
        default=None,
        description="The name of the dead-letter table.",
        examples=["report_jobs_dead"],
    )
    schema_: str | None = Field(
        default=None, alias="schema", description="Its schema. The table's own unless set."
    )
    reason: Annotated[str | bool, NameOrFalse()] | None = Field(
        default=None,
        description="Its column for the reason, `reason` unless set. `false`: there is none.",
        examples=["reason", False],
    )
    error: Annotated[str | bool, NameOrFalse()] | None = Field(
        default=None,
        description=(
            "Its column for the error's text, `error` unless set. `false`: there is none."
        ),
        examples=["error", False],
    )
    time: Annotated[str | bool, NameOrFalse()] | None = Field(
        default=None,
        description="Its column for the time, `died_at` unless set. `false`: there is none.",
        examples=["died_at", False],
    )
    group: Annotated[str | int, Scalar("text or a whole number", (str, int))] | None = Field(
        default=None,
        description="The group of this table that dead letters join, instead of another table.",
        examples=["escalated"],
    )


class RetryShape(Shape):
    """When a row whose handler failed is due again."""

    backoff: Annotated[str, OneOf(("none", "constant", "linear", "exponential"))] = Field(
        description="How the delay grows with the attempts. `none`: the row is claimed again at once."
    )
    base: Annotated[int, Duration()] | None = Field(
        default=None, description="The first delay. `10s` unless set.", examples=["10s"]
    )
    max: Annotated[int, Duration()] | None = Field(
        default=None,
        description="The longest delay, jitter and all. `1h` unless set.",
        examples=["1h"],
    )
    jitter: float | None = Field(
        default=None,
        description="The share of each delay that is random, 0 to 1. 0 unless set.",
        examples=[0.1],
    )


class TableShape(Shape):
    """One work table."""

    name: str | None = Field(
        default=None, description="The table's name in the database. The key unless set."
    )
    schema_: str | None = Field(
        default=None,
        alias="schema",
        description=(
            "A schema on PostgreSQL, a database on MySQL and MariaDB, an attached database "
            "on SQLite."
        ),
        examples=["app"],
    )
    dialects: list[DialectName] | None = Field(
        default=None,
        description=(
            "The databases to generate for. Every one that serves the table's form unless set."
        ),
        examples=[["postgres"], ["postgres", "sqlite"]],
    )
    form: Annotated[str, OneOf(tuple(Form))] | None = Field(
        default=None,
        description=(
            "An assertion: a table whose keys and columns select another form is a mistake."
        ),
    )
    lease: Annotated[int, Duration()] | None = Field(
        default=None,
        description=(
            "Lease form: how long a claim holds a row unless it is extended, in whole "
            "seconds. `30s` unless set."
        ),
        examples=["60s", "5m"],
    )
    advisory_lock: str | None = Field(
        default=None,
        description=(
            "Selects the advisory lock form. The key, with columns in braces; rows with the"
            " same key run one at a time. The columns are integers, text or uuid, and never null."
            " `{{` and `}}` are braces."
        ),
        examples=["accounts-{account}"],
    )
    max_attempts: int | None = Field(
        default=None,
        description=(
            "A row that fails at this attempt becomes a dead letter. Needs a column of role"
            " `attempt`, and `dead_letter`."
        ),
        examples=[5],
    )
    dead_letter: DeadLetterShape | None = Field(
        default=None,
        description="Where dead letters go. Needs `max_attempts`.",
        examples=[{"table": "report_jobs_dead"}, {"group": "escalated"}],
    )
    retry: RetryShape | None = Field(
        default=None,
        description="When a row whose handler failed is due again. At once unless set.",
        examples=[{"backoff": "exponential", "base": "10s", "max": "1h"}],
    )
    claims: list[Annotated[str, OneOf(("group", "table"))]] | None = Field(
        default=None,
        description=(
            "The claims to generate, each with its index: of one group, of the whole table."
            ' `["group"]` unless set where the table has a group, else `["table"]`.'
        ),
        examples=[["group", "table"]],
    )
    where: str | None = Field(
        default=None,
        description=(
            "One more condition a row must meet to be claimed, in SQL that every database "
            "of the table understands, over the columns of this file. Claims run it for each row "
            "they look at. Functions that are known to wait, lock or reach beyond the row are "
            "refused; what others do is for the reviewer of this file to know."
        ),
        examples=["approved"],
    )
    clock: Annotated[str, OneOf(("host", "database"))] = Field(
        default="host",
        description=(
            "Whose clock times are computed from. `database` needs an attempt column on a "
            "lease table."
        ),
    )
    isolation: (
        Annotated[str, OneOf(("read committed", "repeatable read", "serializable"))] | None
    ) = Field(
        default=None,
        description=(
            "The level of the claim's transaction in the row lock form, and of "
            "transactional handlers. `read committed` unless set. `serializable` is refused for the row "
            "lock form where MySQL or MariaDB are among the dialects, and FIFO groups need "
            "`read committed`."
        ),
    )
    mode: Annotated[str, OneOf(("immediate", "exclusive"))] | None = Field(
        default=None, description="SQLite: how write transactions begin. `immediate` unless set."
    )
    notify: bool = Field(
        default=False,
        description="PostgreSQL: an enqueued row wakes waiting workers of other processes.",
    )
    commit_order: bool = Field(
        default=False,
        description=(
            "Rows are claimed in the order their transactions committed, not by id alone."
        ),
    )
    columns: dict[str, ColumnShape] = Field(
        description="The table's columns, each a key: its name in the database.",
    )


class FileShape(Shape):
    """The tables of work that sqlclaimgen generates SQL and Python for."""

    model_config = ConfigDict(title="tables.toml")

    format: int = Field(description="The format of this file: 1.", examples=[1])
    output: OutputShape = Field(
        default_factory=lambda: OutputShape(), description="Where the generated files go."
    )
    table: dict[str, TableShape] = Field(
        description="The tables, each a key, which names its Python module and its files.",
    )
