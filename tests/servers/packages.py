"""Fetches server programs from Debian's packages into the cache: nothing is installed.

The packages are downloaded with a private apt configuration and unpacked side by side, so that no
root is needed, no service starts and the machine's own packages stay as they are.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .programs import WRAPPED, cache_folder, fetched_program, newer, override_variable, tree_of

_PACKAGES = {
    "postgres": "postgresql",
    "mariadb": "mariadb-server",
    "sqlite": "sqlite3",
    "pgbouncer": "pgbouncer",
}
# MySQL left Debian's stable releases; sid's packages bring their own C library along.
_PACKAGES_OF_SID = {"mysql": ("mysql-server-core", "mysql-client-core")}
_NEWER_PACKAGES_OF_SID = {
    "postgres": ("postgresql",),
    "mariadb": ("mariadb-server", "mariadb-client"),
}
_PROGRAMS = ("usr/bin/*", "usr/sbin/*", "usr/lib/postgresql/*/bin/*")

_KEYRINGS = (
    "/usr/share/keyrings/debian-archive-keyring.gpg",
    "/usr/share/keyrings/debian-archive-keyring.pgp",
    "/usr/share/keyrings/ubuntu-archive-keyring.gpg",
)


class FetchFailed(Exception):
    """A program could not be fetched; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class _Source:
    uri: str
    suite: str
    component: str

    def line(self) -> str:
        keyring = next((path for path in _KEYRINGS if Path(path).exists()), None)
        option = f"[signed-by={keyring}] " if keyring else ""
        return f"deb {option}{self.uri} {self.suite} {self.component}\n"


def fetch(name: str) -> None:
    """Puts the program of that name into the cache; raises `FetchFailed`."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise FetchFailed(f"{name} is not installed and this machine has no apt: install {name}.")
    sources = _machine_sources()
    if not sources:
        raise FetchFailed(f"{name}: no archive of this release in apt's own sources.")
    with _locked_cache() as cache, tempfile.TemporaryDirectory(dir=cache) as scratch:
        of_sid = _NEWER_PACKAGES_OF_SID if newer(name) else _PACKAGES_OF_SID
        if name in of_sid:
            if platform.freedesktop_os_release().get("ID") != "debian":
                raise FetchFailed(
                    f"{name}: only Debian's unstable release has it as a package. Install it, and set "
                    f"{override_variable(name)} to the path of its server program."
                )
            sid = _Source(sources[0].uri, "sid", "main")
            debs = _download(Path(scratch), [sid], of_sid[name], alone=True)
        else:
            debs = _download(Path(scratch), sources, (_PACKAGES[name],), alone=False)
        tree = Path(scratch, "tree")
        tree.mkdir(mode=0o755)
        for deb in debs:
            _run(["dpkg-deb", "-x", str(deb), str(tree)], dict(os.environ))
        final = tree_of(name)
        if newer(name):
            _wrap(tree, final)
        shutil.rmtree(final, ignore_errors=True)
        tree.rename(final)
        program = fetched_program(name, final)
        if program is None or not program.version_text():
            shutil.rmtree(final)
            raise FetchFailed(f"{name}: the fetched program does not run on this machine.")


def _wrap(tree: Path, final: Path) -> None:
    """Replaces each program of the tree by a script that starts it with the tree's own loader: these
    programs start one another. `final` is the folder the tree is moved to."""
    loader = next(tree.glob("usr/lib/*-linux-gnu*/ld-linux*.so.*")).relative_to(tree)
    libraries = ":".join(
        str(final / folder.relative_to(tree))
        for pattern in ("usr/lib/*-linux-gnu*", "lib/*-linux-gnu*")
        for folder in sorted(tree.glob(pattern))
    )
    for path in sorted(file for pattern in _PROGRAMS for file in tree.glob(pattern)):
        if path.is_symlink() or not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
            continue
        real = path.with_name(f"{path.name}.elf")
        path.rename(real)
        moved = final / real.relative_to(tree)
        path.write_text(
            f'#!/bin/sh\nexec "{final / loader}" --argv0 "$0" --library-path "{libraries}" "{moved}" "$@"\n'
        )
        path.chmod(0o755)
    (tree / WRAPPED).touch()


def _machine_sources() -> list[_Source]:
    """The archives of the machine's own release, from apt's own configuration."""
    codename = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    text = _run(
        ["apt-get", "indextargets", "--format", "$(CREATED_BY) $(REPO_URI) $(RELEASE) $(COMPONENT)"]
    )
    found: dict[_Source, None] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 4 and words[0] == "Packages" and words[2].startswith(codename):
            found[_Source(*words[1:])] = None
    # The release itself first: its archive is the one that has sid as well.
    return sorted(found, key=lambda source: (source.suite != codename, source.suite))


def _download(
    scratch: Path, sources: list[_Source], packages: tuple[str, ...], *, alone: bool
) -> list[Path]:
    """Downloads packages and what they need; `alone` counts nothing of the machine as present."""
    for folder in ("lists/partial", "cache/archives/partial"):
        (scratch / folder).mkdir(parents=True)
    (scratch / "sources.list").write_text("".join(source.line() for source in sources))
    (scratch / "none").mkdir()
    settings = {
        "Dir::Etc::sourcelist": f"{scratch}/sources.list",
        "Dir::Etc::sourceparts": f"{scratch}/none",
        "Dir::State::lists": f"{scratch}/lists",
        "Dir::Cache": f"{scratch}/cache",
        "APT::Install-Recommends": "0",
        "APT::Sandbox::User": "",
        "APT::Update::Post-Invoke": "",
        "APT::Keep-Downloaded-Packages": "1",
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
        "Debug::NoLocking": "1",
    }
    if alone:
        (scratch / "status").touch()
        settings["Dir::State::status"] = f"{scratch}/status"
        settings["Dir::Etc::preferences"] = f"{scratch}/none/preferences"
        settings["Dir::Etc::preferencesparts"] = f"{scratch}/none"
    options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    _run(["apt-get", *options, "update"], environment)
    _run(["apt-get", *options, "install", "-y", "--download-only", *packages], environment)
    return sorted((scratch / "cache/archives").glob("*.deb"))


@contextmanager
def _locked_cache() -> Iterator[Path]:
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        cache.chmod(0o755)
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield cache


def _run(command: list[str], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise FetchFailed(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout
