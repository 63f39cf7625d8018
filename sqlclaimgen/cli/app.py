"""The commands and their options. What each does is in a module of its own, imported when it runs."""

import os
from pathlib import Path
from typing import Annotated

import typer

from sqlclaimgen.cli import completing
from sqlclaimgen.cli.console import ErrorFormat, Format, fail, reporting
from sqlclaimgen.description.model import Form
from sqlclaimgen.dialects import DIALECTS

app = typer.Typer(
    name="sqlclaimgen",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # rich still writes bold where colours are off
    rich_markup_mode=None if os.environ.get("NO_COLOR") else "rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Generates the SQL and the typed Python that claim rows of your own tables, each row once.",
)

_File = Annotated[
    Path,
    typer.Argument(
        metavar="TABLES.TOML", readable=False, help="The description, or the folder it is in."
    ),
]
_FileOption = Annotated[
    Path,
    typer.Option("--file", "-f", readable=False, help="The description, or the folder it is in."),
]
_Format = Annotated[Format, typer.Option("--format", help="Who reads the result.")]
_Errors = Annotated[ErrorFormat, typer.Option("--error-format", help="How mistakes are reported.")]
_HERE = Path("tables.toml")
_DIALECTS = "|".join(DIALECTS)


def _print_version(wanted: bool) -> None:
    if wanted:
        from sqlclaimgen import __version__
        from sqlclaimgen.cli.console import out

        out(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """What every command shares."""


@app.command()
def build(
    tables: _File = _HERE,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Write nothing; show what differs and exit with 1 if anything."
        ),
    ] = False,
    stdout: Annotated[bool, typer.Option("--stdout", help="Print the files, write none.")] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite files edited by hand, and others in the way."),
    ] = False,
    error_format: _Errors = ErrorFormat.TEXT,
    format: _Format = Format.TEXT,
) -> None:
    """Write the SQL, the Python modules and the pages of a description."""
    with reporting(error_format):
        from sqlclaimgen.cli import building

        if check and (stdout or force):
            fail(
                "--check writes and prints no files", "Leave out --stdout and --force, or --check."
            )
        if stdout and force:
            fail("--stdout writes no files", "Leave out --force, or --stdout.")
        if check:
            code = building.check(tables, error_format, format)
        elif stdout:
            code = building.stdout(tables, error_format, format)
        else:
            code = building.build(tables, error_format, format, force=force)
    raise typer.Exit(code)


@app.command()
def show(
    tables: _File = _HERE,
    table: Annotated[
        list[str] | None, typer.Option("--table", "-t", help="Only this table; may be repeated.")
    ] = None,
    format: _Format = Format.TEXT,
) -> None:
    """Print what was understood of a description."""
    with reporting():
        from sqlclaimgen.cli import showing

        code = showing.show(tables, table or [], format)
    raise typer.Exit(code)


@app.command()
def init(
    tables: _File = _HERE,
    form: Annotated[
        Form, typer.Option(help="How rows are held while they are in work.")
    ] = Form.LEASE,
    dialect: Annotated[
        list[str] | None,
        typer.Option(
            metavar=_DIALECTS,
            help="A database to generate for; may be repeated.",
            autocompletion=completing.dialects,
        ),
    ] = None,
    from_file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE.SQL", hidden=True)
    ] = None,
    dsn: Annotated[str | None, typer.Option("--dsn", hidden=True)] = None,
) -> None:
    """Write a first tables.toml, with everything in it explained."""
    with reporting():
        from sqlclaimgen.cli import starting

        if from_file is not None or dsn is not None:
            fail(
                "reading a table that exists is not served yet",
                "Run `sqlclaimgen init` without --from and --dsn, and enter its columns.",
            )
        code = starting.init(tables, form, dialect or ["postgres"])
    raise typer.Exit(code)


@app.command()
def sql(
    table: Annotated[
        str, typer.Argument(help="The table's key.", autocompletion=completing.tables)
    ],
    statement: Annotated[
        str,
        typer.Argument(
            help="The statement's name, as its .sql file has it.",
            autocompletion=completing.statements,
        ),
    ],
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter's value. Times are ISO 8601, now or now+60s; lists are 1,2,3.",
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            metavar=_DIALECTS,
            help="The database; may be left out where there is one.",
            autocompletion=completing.dialects,
        ),
    ] = None,
    file: _FileOption = _HERE,
) -> None:
    """Print one statement with literals, to paste into psql, mysql or sqlite3."""
    with reporting():
        from sqlclaimgen.cli import pasting

        code = pasting.sql(file, table, statement, values or [], dialect)
    raise typer.Exit(code)


@app.command()
def price(
    table: Annotated[
        str, typer.Argument(help="The table's key.", autocompletion=completing.tables)
    ],
    workers: Annotated[
        int, typer.Option("--workers", "-n", min=1, help="Worker processes on each host.")
    ] = 1,
    hosts: Annotated[int, typer.Option("--hosts", "-m", min=1, help="Hosts.")] = 1,
    concurrency: Annotated[
        int, typer.Option("--concurrency", "-c", min=1, help="Handlers of a worker.")
    ] = 8,
    transactional: Annotated[
        bool,
        typer.Option("--transactional", help="Handlers are given a connection of their own."),
    ] = False,
    server_limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="The server's limit of connections; exit with 1 when it is too low."
        ),
    ] = None,
    file: _FileOption = _HERE,
    format: _Format = Format.TEXT,
) -> None:
    """Print how many connections a table's workers hold."""
    with reporting():
        from sqlclaimgen.cli import pricing

        code = pricing.show_price(
            file,
            table,
            workers=workers,
            hosts=hosts,
            concurrency=concurrency,
            transactional=transactional,
            limit=server_limit,
            form=format,
        )
    raise typer.Exit(code)


_Dsn = Annotated[
    str,
    typer.Option(
        envvar="SQLCLAIMGEN_DSN",
        help="postgresql://.., mysql://.., mariadb://.. or sqlite:///file.",
    ),
]


@app.command()
def stats(
    dsn: _Dsn,
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TABLE]...",
            help="Keys; all tables unless given.",
            autocompletion=completing.tables,
        ),
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option("--group", "-g", help="A group; may be repeated.")
    ] = None,
    file: _FileOption = _HERE,
    format: _Format = Format.TEXT,
) -> None:
    """Count due, delayed, leased and dead rows on a server, up to 10,000 of each."""
    with reporting():
        from sqlclaimgen.cli import caring

        code = caring.stats(file, tables or [], group or [], dsn, format)
    raise typer.Exit(code)


@app.command()
def redrive(
    dsn: _Dsn,
    table: Annotated[
        str, typer.Argument(help="The table's key.", autocompletion=completing.tables)
    ],
    id: Annotated[
        list[str] | None, typer.Option("--id", help="A dead letter; may be repeated.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="So many, the oldest first.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All that can come back.")] = False,
    file: _FileOption = _HERE,
) -> None:
    """Bring dead letters back: due now, from their first attempt."""
    with reporting():
        from sqlclaimgen.cli import caring

        code = caring.redrive(file, table, id or [], limit, every, dsn)
    raise typer.Exit(code)


@app.command()
def schema() -> None:
    """Print the JSON schema of tables.toml, for editors."""
    with reporting():
        from sqlclaimgen.cli.console import exact, out
        from sqlclaimgen.templating import folder

        exact()
        out((folder("schemas") / "tables.schema.json").read_text(encoding="utf-8"), end="")


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Option(help="Keep everything in this new folder, to look at it.")
    ] = None,
) -> None:
    """Show a crash and its recovery on SQLite: enqueue, work, kill a worker, recover."""
    with reporting():
        from sqlclaimgen.cli import demonstrating

        code = demonstrating.demo(folder)
    raise typer.Exit(code)
