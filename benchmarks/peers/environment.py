"""The virtual environment of the peers: made once, filled from the package index by name."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[1] / ".venv"

PACKAGES: dict[str, tuple[str, ...]] = {
    "pgqueuer": ("pgqueuer", "psycopg[binary]", "psycopg-pool", "asyncpg"),
    "procrastinate": ("procrastinate",),
    "huey": ("huey",),
    "litequeue": ("litequeue",),
    "persist-queue": ("persist-queue",),
}
"""What each peer needs, by its name in the index."""

_VERSIONS = """
import importlib.metadata, json
print(json.dumps({one.metadata["Name"].lower(): one.version for one in importlib.metadata.distributions()}))
"""


class PeerMissing(Exception):
    """A peer cannot be installed; the text is why."""


def python() -> Path:
    """The environment's interpreter. Raises PeerMissing."""
    found = FOLDER / "bin" / "python"
    if not found.exists():
        _run([sys.executable, "-m", "venv", "--clear", str(FOLDER)])
    return found


@cache
def versions() -> dict[str, str]:
    """What is installed there, by name."""
    found: dict[str, str] = json.loads(_run([str(python()), "-c", _VERSIONS]))
    return found


@cache
def why_missing(peer: str) -> str | None:
    """Install the peer where it is not. None: it is there; else why it cannot be."""
    packages = PACKAGES[peer]
    try:
        if all(package.partition("[")[0] in versions() for package in packages):
            return None
        _run([str(python()), "-m", "pip", "install", "--quiet", *packages])
    except PeerMissing as error:
        return str(error)
    versions.cache_clear()
    return None


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerMissing(str(error)) from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        raise PeerMissing(errors[-1] if errors else f"status {done.returncode}")
    return done.stdout
