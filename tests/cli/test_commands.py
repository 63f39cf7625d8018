"""`show`, `init`, `schema`, `price`, help and completion."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sqlclaimgen import __version__
from sqlclaimgen.templating import folder

from .conftest import Run


def test_show_for_a_person(project: Path, run: Run) -> None:
    done = run("show")
    assert done.code == 0
    assert "jobs: the table jobs\n" in done.out
    assert "lease, for the column `locked_until` has the role locked_until" in done.out
    assert "payouts: the table app.payouts\n" in done.out
    assert "row lock, for no column has the role locked_until" in done.out
    assert "app.models:Job" in done.out and "numeric(10,2)" in done.out
    assert "\x1b" not in done.out
    assert "payouts" not in run("show", "--table", "jobs").out
    assert run("show", "--table", "nope").code == 2


def test_show_for_a_program(project: Path, run: Run) -> None:
    jobs, payouts = json.loads(run("show", "--format", "json").out)["tables"]
    assert jobs["form"] == "lease" and payouts["form"] == "row_lock"
    assert jobs["roles"] == {
        "id": "id",
        "group": "queue",
        "retry_after": "retry_after",
        "attempt": "attempt",
        "locked_until": "locked_until",
        "payload": "payload",
    }
    assert jobs["claims"] == ["group"]
    assert jobs["connections"]["worker"] == 3 and payouts["connections"]["worker"] == 8
    (queue,) = (column for column in jobs["columns"] if column["name"] == "queue")
    assert queue["sql"] == {"postgres": "text", "sqlite": "TEXT"}
    claim = next(one for one in jobs["indexes"]["postgres"] if one["serves"] == "claim")
    assert claim["columns"][0] == "queue"
    assert "claim" in jobs["statements"]["sqlite"]
    run("build")
    assert all((project / path).is_file() for path in jobs["files"] + payouts["files"])


@pytest.mark.parametrize(
    ("form", "dialects"),
    [
        ("lease", ["postgres", "mysql", "mariadb", "sqlite"]),
        ("lease", ["sqlite"]),
        ("row_lock", ["postgres", "mysql", "mariadb"]),
        ("advisory_lock", ["postgres", "mysql", "mariadb", "sqlite"]),
    ],
)
def test_what_init_writes_builds(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, dialects: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options = [word for dialect in dialects for word in ("--dialect", dialect)]
    done = run("init", "--form", form, *options)
    assert done.code == 0 and "sqlclaimgen build" in done.out
    built = run("build")
    assert built.code == 0 and "error" not in built.err and "RETRY-AT-ONCE" not in built.err
    (table,) = json.loads(run("show", "--format", "json").out)["tables"]
    assert table["form"] == form and set(table["dialects"]) == set(dialects)


def test_what_init_explains_can_be_uncommented(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "tables.toml"
    run("init", path)
    text = path.read_text()
    for line in text.splitlines():
        word = line.removeprefix("# ").partition(" ")[0]
        setting = line.startswith("# ") and " = " in line and word.isidentifier()
        if setting or "[output]" in line:
            text = text.replace(line, line.removeprefix("# "))
    path.write_text(text)
    assert "[output]\nsql" in text and "\nqueue = {" in text and "\ndedupe_key = {" in text
    assert run("build", path).code == 0


def test_init_overwrites_nothing(project: Path, run: Run) -> None:
    before = (project / "tables.toml").read_text()
    done = run("init")
    assert done.code == 2 and "is there already" in done.err
    assert (project / "tables.toml").read_text() == before


def test_init_refuses_what_would_not_build(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "tables.toml"
    done = run("init", path, "--form", "row_lock", "--dialect", "sqlite")
    assert done.code == 2 and not path.exists()
    assert done.err.splitlines() == [
        "error: --form row_lock and --dialect sqlite do not go together: SQLite has no row locks: "
        "an open write transaction locks the whole file.",
        "    hint: Write --form lease or --form advisory_lock, or another --dialect.",
    ]
    oracle = run("init", path, "--dialect", "oracle")
    assert oracle.code == 2 and "one of postgres, mysql" in oracle.err and not path.exists()
    nowhere = run("init", tmp_path / "a" / "b.toml")
    assert nowhere.code == 2 and f"the folder {tmp_path / 'a'} is not there" in nowhere.err
    twice = run("init", path, "--dialect", "sqlite", "--dialect", "sqlite")
    assert twice.code == 0 and run("build", path).code == 0


@pytest.mark.parametrize("option", ["--from", "--dsn"])
def test_init_says_that_adoption_is_not_served_yet(run: Run, tmp_path: Path, option: str) -> None:
    done = run("init", tmp_path / "tables.toml", option, "x")
    assert done.code == 2 and "not served yet" in done.err
    assert option not in run("init", "--help").out
    assert not (tmp_path / "tables.toml").exists()


def test_the_schema_is_the_committed_one(run: Run) -> None:
    done = run("schema")
    assert done.out == (folder("schemas") / "tables.schema.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "total"),
    [
        (["jobs"], 3),
        (["jobs", "-n", "2", "-m", "4"], 24),
        (["jobs", "-c", "100"], 3),
        (["jobs", "-c", "100", "--transactional"], 103),
        (["payouts", "-n", "2", "-m", "4", "-c", "10"], 80),
        (["payouts", "-c", "10", "--transactional"], 10),
    ],
)
def test_the_price_in_connections(
    project: Path, run: Run, arguments: list[str], total: int
) -> None:
    said = json.loads(run("price", *arguments, "--format", "json").out)
    assert said["total"] == total and said["fits"]
    assert f": {total} connections\n" in run("price", *arguments).out


def test_the_price_against_a_limit(project: Path, run: Run) -> None:
    fits = run("price", "payouts", "-n", "2", "--server-limit", "16")
    assert fits.code == 0 and "limit of 16 leaves 0" in fits.out
    over = run("price", "payouts", "-n", "2", "--server-limit", "15")
    assert over.code == 1 and "limit of 15 is 1 too low" in over.out
    assert run("price", "nope").code == 2
    assert run("price", "jobs", "-n", "0").code == 2


def test_help_names_every_command(run: Run) -> None:
    done = run("-h")
    assert done.code == 0
    for command in ("build", "show", "init", "sql", "price", "schema", "demo"):
        assert f" {command} " in done.out
        assert run(command, "--help").code == 0
    assert run("--version").out == f"{__version__}\n"


def test_shells_complete_tables_and_statements(project: Path) -> None:
    code = "import sys; sys.argv = ['sqlclaimgen']; from sqlclaimgen.cli import main; main()"

    def offered(words: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={
                **os.environ,
                "_SQLCLAIMGEN_COMPLETE": "complete_bash",
                "COMP_WORDS": f"sqlclaimgen {words}",
                "COMP_CWORD": str(len(words.split(" "))),
                "PYTHONPATH": str(Path(__file__).parents[2]),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.split()

    assert offered("sql p") == ["payouts"]
    assert "claim" in offered("sql jobs ")
    assert offered("sql jobs claim --dialect s") == ["sqlite"]


@pytest.mark.parametrize("arguments", [["schema"], ["build", "--stdout"], ["show"], ["-h"]])
def test_output_is_the_same_where_the_locale_is_plain(project: Path, arguments: list[str]) -> None:
    def printed(**settings: str) -> bytes:
        done = subprocess.run(
            [sys.executable, "-m", "sqlclaimgen", *arguments],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **settings},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    plain = printed(PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert arguments in (["show"], ["-h"]) or plain == printed(PYTHONIOENCODING="utf-8")


def test_no_command_imports_what_it_does_not_need(project: Path) -> None:
    code = (
        "import sys\nfrom sqlclaimgen.cli import main\n"
        "sys.argv = ['sqlclaimgen', *sys.argv[1:]]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
        "print(*[name for name in sys.modules if name.startswith('sqlclaimgen.runtime')])\n"
    )

    def loaded(*arguments: str) -> tuple[set[str], set[str]]:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=True,
        )
        packages, runtime = done.stdout.splitlines()[-2:]
        return set(packages.split()), set(runtime.split())

    packages, _ = loaded("--version")
    assert not packages & {"jinja2", "pydantic", "sqlglot", "rich", "psycopg", "sqlite3"}
    packages, runtime = loaded("build")
    assert not packages & {"sqlglot", "rich", "psycopg", "pymysql", "sqlite3", "asyncio"}
    # a module's arguments of Queue are rendered from the runtime's own classes: these are what they
    # need. What claims, settles, opens connections or works stays out.
    queue = [
        "backoff",
        "clock",
        "codecs",
        "errors",
        "keys",
        "numerals",
        "placeholders",
        "queue",
        "steps",
    ]
    assert runtime <= {"sqlclaimgen.runtime", *(f"sqlclaimgen.runtime.{name}" for name in queue)}


def _command(project: Path, line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A line of a shell that calls the command, as a program of its own."""
    main = f"{sys.executable} -m sqlclaimgen"
    return subprocess.run(
        ["bash", "-c", line.replace("sqlclaimgen", main)],
        cwd=project,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_a_reader_that_has_seen_enough_and_a_closed_output(project: Path) -> None:
    many = "".join(
        f'[table.t{n}.columns]\nid = {{ role = "id", type = "int" }}\nlocked_until = {{}}\n'
        for n in range(60)
    )
    (project / "tables.toml").write_text(f"format = 1\n{many}")
    done = _command(project, "sqlclaimgen show | head -1; echo ${PIPESTATUS[0]}")
    assert done.stdout.splitlines()[-1] == "0" and done.stderr == ""
    done = _command(project, "sqlclaimgen show -t t1 >&-")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal")
def test_no_escape_codes_where_colours_are_off(project: Path) -> None:
    import pty

    for arguments in (["show"], ["--help"], ["build", "--nope"]):
        ours, theirs = pty.openpty()
        subprocess.run(
            [sys.executable, "-m", "sqlclaimgen", *arguments],
            cwd=project,
            env={**os.environ, "NO_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "500"},
            stdout=theirs,
            stderr=theirs,
            timeout=60,
            check=False,
        )
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):
            while part := os.read(ours, 65536):
                said += part
        os.close(ours)
        assert said and b"\x1b" not in said, arguments


def test_show_prints_words_as_they_are(project: Path, run: Run) -> None:
    (project / "tables.toml").write_text(
        """format = 1
[table.jobs]
dialects = ["postgres"]
where = '":bug:" IS NOT NULL'
[table.jobs.columns]
id = { role = "id", type = "bigint" }
locked_until = {}
":bug:" = { type = "text", field = "bug", default = ":smile: [bold]x[/bold]" }
'x\\' = { type = "text", field = "x" }
"""
    )
    said = run("show").out
    assert '":bug:" IS NOT NULL' in said and ":smile: [bold]x[/bold]" in said
    assert "x\\ " in said and "x\\\\" not in said


def test_a_relative_cache_is_none(project: Path) -> None:
    done = _command(project, "sqlclaimgen build --check", XDG_CACHE_HOME="relative")
    assert done.returncode == 1 and not (project / "relative").exists()
