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

from .programs import cache_folder, fetched_program

_PACKAGES = {
    "postgres": "postgresql",
    "mariadb": "mariadb-server",
    "sqlite": "sqlite3",
    "pgbouncer": "pgbouncer",
}
# MySQL left Debian's stable releases; sid's packages bring their own C library along.
_PACKAGES_OF_SID = {"mysql": ("mysql-server-core", "mysql-client-core")}

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
        if name in _PACKAGES_OF_SID:
            if platform.freedesktop_os_release().get("ID") != "debian":
                raise FetchFailed("MySQL: install mysqld, version 8.0.1 or newer (mysql-server).")
            sid = _Source(sources[0].uri, "sid", "main")
            debs = _download(Path(scratch), [sid], _PACKAGES_OF_SID[name], alone=True)
        else:
            debs = _download(Path(scratch), sources, (_PACKAGES[name],), alone=False)
        tree = Path(scratch, "tree")
        tree.mkdir(mode=0o755)
        for deb in debs:
            _run(["dpkg-deb", "-x", str(deb), str(tree)], dict(os.environ))
        program = fetched_program(name, tree)
        if program is None or not program.version_text():
            raise FetchFailed(f"{name}: the fetched program does not run on this machine.")
        shutil.rmtree(cache / name, ignore_errors=True)
        tree.rename(cache / name)


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
