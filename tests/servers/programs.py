"""Where the server programs of the tests are: installed ones first, then the tests' own cache."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

NAMES = ("postgres", "mariadb", "mysql", "sqlite", "pgbouncer")
"""Every program the tests need, under the name this module finds it by."""

NEWER = ("postgres", "mariadb")
"""The programs that have a newer version in Debian's unstable release."""

RELEASE_VARIABLE = "SQLCLAIMGEN_TEST_RELEASE"
"""Set to `newer`, tests run on the newest servers that Debian has instead of this machine's."""

_EXECUTABLES = {
    "postgres": "postgres",
    "mariadb": "mariadbd",
    "mysql": "mysqld",
    "sqlite": "sqlite3",
    "pgbouncer": "pgbouncer",
}
_SYSTEM_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/bin", "/usr/local/bin")


WRAPPED = "wrapped"
"""A file in a tree whose programs start their own loader."""


class ProgramMissing(Exception):
    """A program that a test needs is neither installed nor in the cache.

    `name` is one of `NAMES`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"the server program of {name} ({_EXECUTABLES[name]}) was found neither on this machine"
            f" nor in {cache_folder()}. On Debian and Ubuntu `make servers` fetches it, without"
            " root; elsewhere install it, or set"
            f" {override_variable(name)} to the path of {_EXECUTABLES[name]}."
        )


@dataclass(frozen=True, slots=True)
class Program:
    """One executable, with what has to stand before it and in its environment.

    `tree` is the unpacked package tree it came from, None for an installed program.
    """

    path: Path
    prefix: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    tree: Path | None = None

    def command(self, *arguments: str | Path) -> list[str]:
        """The command line that runs the program with these arguments."""
        return [*self.prefix, str(self.path), *map(str, arguments)]

    def by_hand(self) -> str:
        """What runs the program in a shell: its path, and what a fetched one does not start without."""
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        return shlex.join([*(["env", *variables] if variables else []), *self.command()])

    def variables(self) -> dict[str, str]:
        """The whole environment the program runs with."""
        return {**os.environ, **self.environment}

    def sibling(self, name: str) -> Program | None:
        """Another program of the same installation, None where there is none."""
        folders = [self.path.parent]
        if self.tree is not None:
            folders += [self.tree / "usr/bin", self.tree / "usr/sbin"]
        else:
            folders += [Path(folder) for folder in _SYSTEM_FOLDERS]
        for folder in folders:
            if os.access(folder / name, os.X_OK):
                return Program(folder / name, self.prefix, self.environment, self.tree)
        on_path = shutil.which(name)
        return Program(Path(on_path)) if on_path else None

    def version_text(self) -> str:
        """What `--version` prints, empty where the program does not run."""
        try:
            answer = subprocess.run(
                self.command("--version"),
                env=self.variables(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        except OSError:
            return ""
        return answer.stdout.strip() if answer.returncode == 0 else ""


def cache_folder() -> Path:
    """The folder that holds fetched servers, outside any checkout.

    PostgreSQL and PgBouncer refuse to run as root and root's home is closed to other users, so
    root's cache is the system's.
    """
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "sqlclaimgen-tests"
    if os.geteuid() == 0:
        return Path("/var/cache/sqlclaimgen-tests")
    return Path.home() / ".cache" / "sqlclaimgen-tests"


def newer(name: str) -> bool:
    """Whether this run asks for the newest version of the program. Raises ValueError where the
    variable has another value."""
    value = os.environ.get(RELEASE_VARIABLE, "")
    if value not in ("", "newer"):
        raise ValueError(f"{RELEASE_VARIABLE} is {value!r}; set it to newer, or not at all.")
    return bool(value) and name in NEWER


def tree_of(name: str) -> Path:
    """The folder of the cache that a program's packages are unpacked into."""
    return cache_folder() / (f"{name}-newer" if newer(name) else name)


def override_variable(name: str) -> str:
    """The environment variable that names another executable for this program."""
    return f"SQLCLAIMGEN_TEST_{name.upper()}"


def find(name: str) -> Program:
    """The program of that name; raises `ProgramMissing`."""
    for program in _candidates(name):
        if _is(name, program):
            return program
    raise ProgramMissing(name)


def version(name: str) -> str | None:
    """The version of the program that `find` finds, None where there is none."""
    try:
        text = find(name).version_text()
    except ProgramMissing:
        return None
    numbers = re.search(r"\d+(\.\d+)+", text)
    return numbers[0] if numbers else text


def _candidates(name: str) -> Iterator[Program]:
    if override := os.environ.get(override_variable(name)):
        yield Program(Path(override))
        return
    if newer(name):
        if fetched := fetched_program(name, tree_of(name)):
            yield fetched
        return
    executable = _EXECUTABLES[name]
    if name == "postgres":
        # Debian keeps each version's programs in a folder of their own, off PATH.
        folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_number, reverse=True)
        yield from (Program(folder / executable) for folder in folders)
    if on_path := shutil.which(executable):
        # The real path: initdb and psql are looked for beside it.
        yield Program(Path(on_path).resolve())
    for folder in _SYSTEM_FOLDERS:
        if os.access(f"{folder}/{executable}", os.X_OK):
            yield Program(Path(folder, executable))
    if fetched := fetched_program(name, tree_of(name)):
        yield fetched


def fetched_program(name: str, tree: Path) -> Program | None:
    """The program inside a tree of unpacked packages, None where the tree has none.

    A tree with its own C library runs with its own loader; another one borrows the machine's.
    """
    executable = _EXECUTABLES[name]
    found = [
        path
        for pattern in ("usr/lib/postgresql/*/bin", "usr/sbin", "usr/bin")
        for path in sorted((tree).glob(f"{pattern}/{executable}"))
    ]
    if not found:
        return None
    folders = [
        folder
        for pattern in ("usr/lib/*-linux-gnu*", "lib/*-linux-gnu*", "usr/lib/mysql/private")
        for folder in sorted(tree.glob(pattern))
    ]
    libraries = ":".join(map(str, folders))
    loaders = sorted(tree.glob("usr/lib/*-linux-gnu*/ld-linux*.so.*"))
    if loaders and (tree / WRAPPED).exists():
        return Program(found[-1], (), {}, tree)
    if loaders:
        return Program(found[-1], (str(loaders[0]), "--library-path", libraries), {}, tree)
    return Program(found[-1], (), {"LD_LIBRARY_PATH": libraries}, tree)


def _is(name: str, program: Program) -> bool:
    # MariaDB installs itself under the name mysqld too.
    text = program.version_text()
    return bool(text) and (name != "mysql" or "MariaDB" not in text)


def _number(folder: Path) -> int:
    return int(folder.parent.name) if folder.parent.name.isdigit() else 0
