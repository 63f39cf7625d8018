"""What a run was made on: the machine, the versions, the date."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

from benchmarks.peers import environment
from tests.servers.processes import base_folder

_DRIVERS = ("psycopg", "PyMySQL")


def facts(servers: Mapping[str, str]) -> dict[str, str]:
    """The facts by name, in the order in which they are printed; `servers` are their versions."""
    found = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{_memory():.0f} GB",
        "disk": _file_system(base_folder(on_disk=True)),
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "servers": ", ".join(f"{name} {version}" for name, version in servers.items()),
        "drivers": ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _DRIVERS),
        "peers": ", ".join(_peers()),
    }
    return {name: value for name, value in found.items() if value}


def load() -> str:
    """What else the machine does: the load of the last 1, 5 and 15 minutes."""
    return " ".join(f"{one:.1f}" for one in os.getloadavg())


def _peers() -> list[str]:
    if not environment.FOLDER.exists():
        return []
    try:
        versions = environment.versions()
    except environment.PeerMissing:
        return []
    return [
        f"{name} {versions[name]}"
        for name in (*environment.PACKAGES, "asyncpg")
        if name in versions
    ]


def _commit() -> str:
    if shutil.which("git") is None:
        return ""
    command = ["git", "describe", "--always", "--dirty"]
    here = Path(__file__).parent
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3


def _file_system(folder: Path) -> str:
    """The type of the file system that holds the data: a flush means nothing in memory."""
    mounts = [line.split() for line in _lines("/proc/mounts")]
    holding = [mount for mount in mounts if folder.is_relative_to(mount[1])]
    kind = max(holding, key=lambda mount: len(mount[1]))[2] if holding else "unknown"
    return f"{kind} at {folder}"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
