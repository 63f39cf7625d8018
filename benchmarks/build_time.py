"""How long `sqlclaimgen build` takes, against the bare imports of the libraries it uses.

    python benchmarks/build_time.py [--rounds 15]

Whole processes are measured, in turn, so that a busy machine slows all of them alike; ratios are of
medians of one run. The bare imports are those third-party modules that a build loads, by name and
with nothing done to them: `import pydantic` alone loads next to nothing of it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 1.5
"""What a build of one table may take, in bare imports."""

TABLE = """
[table.jobs_{n}]
dialects = [{dialects}]
lease = "60s"
max_attempts = 5
dead_letter = {{ table = "jobs_{n}_dead" }}

[table.jobs_{n}.columns]
id = {{ role = "id", type = "bigint", generated = true }}
queue = {{ role = "group", type = "text" }}
priority = {{ role = "priority" }}
retry_after = {{ role = "retry_after" }}
attempt = {{ role = "attempt" }}
locked_until = {{ role = "locked_until" }}
processed_at = {{ role = "processed_at" }}
last_error = {{ role = "last_error" }}
payload = {{ role = "payload", type = "json" }}
"""

_LIBRARIES = ("typer", "rich", "pydantic", "pydantic_core", "jinja2", "sqlglot")

_LOADED = """
import json, sys
sys.argv = ["sqlclaimgen", "build", sys.argv[1]]
from sqlclaimgen.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
json.dump(list(sys.modules), open(sys.argv[1] + "/modules.json", "w"))
"""


def description(folder: Path, tables: int, dialects: str = '"postgres"') -> Path:
    """A description of `tables` tables in a folder of its own."""
    folder.mkdir(exist_ok=True)
    made = (TABLE.format(n=n, dialects=dialects) for n in range(tables))
    text = "format = 1\n" + "".join(made)
    (folder / "tables.toml").write_text(text, encoding="utf-8")
    return folder


def libraries(folder: Path) -> str:
    """The import statements of a build's third-party modules, in the order in which it loads them."""
    code = _LOADED.replace('sys.argv[1] + "/modules.json"', f'"{folder.as_posix()}/modules.json"')
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, stdout=subprocess.DEVNULL)
    modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    wanted = [name for name in modules if name.partition(".")[0] in _LIBRARIES]
    return "\n".join(f"import {name}" for name in wanted if not name.startswith("_"))


class Measured:
    """One command, run many times."""

    def __init__(self, name: str, arguments: list[str]) -> None:
        self.name = name
        self.arguments = arguments
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def run(self) -> None:
        """Run it once more."""
        before, started = os.times(), time.perf_counter()
        subprocess.run([sys.executable, *self.arguments], check=True, stdout=subprocess.DEVNULL)
        self.wall.append(time.perf_counter() - started)
        after = os.times()
        self.cpu.append(
            after.children_user
            - before.children_user
            + after.children_system
            - before.children_system
        )

    def ratio(self, other: Measured) -> tuple[float, float]:
        """How many times as long as `other` it takes, by the clock and in processor time."""
        return (
            statistics.median(self.wall) / statistics.median(other.wall),
            statistics.median(self.cpu) / statistics.median(other.cpu),
        )


EVERY = '"postgres", "mysql", "mariadb", "sqlite"'


def measure(rounds: int) -> tuple[Measured, Measured, dict[int, Measured]]:
    """The bare imports, a build for every database, and builds for one by their number of tables."""
    with tempfile.TemporaryDirectory() as place:
        folders = {n: description(Path(place) / str(n), n) for n in (1, 10, 50)}
        bare = Measured("bare imports", ["-c", libraries(folders[1])])
        builds = {
            n: Measured(f"{n} tables, one database", ["-m", "sqlclaimgen", "build", str(folder)])
            for n, folder in folders.items()
        }
        wide = description(Path(place) / "wide", 1, EVERY)
        whole = Measured("1 table, four databases", ["-m", "sqlclaimgen", "build", str(wide)])
        for build in (whole, *builds.values()):
            # the first build compiles templates, and writes: neither is measured
            build.run()
            build.wall.clear()
            build.cpu.clear()
        for _ in range(rounds):
            for one in (bare, whole, *builds.values()):
                one.run()
    return bare, whole, builds


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    bare, whole, builds = measure(parser.parse_args().rounds)
    print(f"{'':26}{'ms':>8}{'CPU ms':>8}{'of bare':>9}{'CPU':>7}")
    for one in (bare, *builds.values(), whole):
        wall, cpu = (statistics.median(times) * 1000 for times in (one.wall, one.cpu))
        ratio = one.ratio(bare)
        print(f"{one.name:26}{wall:8.0f}{cpu:8.0f}{ratio[0]:9.2f}{ratio[1]:7.2f}")
    spent = {n: statistics.median(build.cpu) * 1000 for n, build in builds.items()}
    first, second = (spent[10] - spent[1]) / 9, (spent[50] - spent[10]) / 40
    print(f"a further table: {first:.1f} ms CPU from 1 to 10, {second:.1f} ms from 10 to 50")
    within = min(builds[1].ratio(bare)) <= LIMIT
    print(f"one table: {'within' if within else 'over'} {LIMIT} times the bare imports")
    return 0 if within else 1


if __name__ == "__main__":
    raise SystemExit(main())
