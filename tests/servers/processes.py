"""Starts server processes that end with the tests, whatever ends the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

_PREFIX = "sqlclaimgen-tests-"
_PLENTY = 4 * 1024**3

# The death signal of setpriv is sent when the *thread* that started a process ends, so every
# process is started by one thread that lives as long as the interpreter.
_LAUNCHER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="server-launcher")


class ServerFailed(Exception):
    """A server did not start or stop; the text ends with the last lines of its log."""


def unprivileged_user() -> str | None:
    """The user for servers that refuse to run as root, None when this process is not root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise ServerFailed("neither the user postgres nor nobody exists on this machine")


def free_port() -> int:
    """A TCP port of the loopback interface that nothing listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def base_folder(*, on_disk: bool = False) -> Path:
    """Where data folders go: memory where it is plenty, which creates files 20 times faster, or a disk.

    `SQLCLAIMGEN_TEST_FOLDER` names another place.
    """
    if chosen := os.environ.get("SQLCLAIMGEN_TEST_FOLDER"):
        return Path(chosen)
    if on_disk:
        # /tmp may be memory, /var/tmp is not
        lasting = Path("/var/tmp")
        return lasting if os.access(lasting, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK | os.X_OK) and shutil.disk_usage(memory).free > _PLENTY:
        return memory
    return Path(tempfile.gettempdir())


def temporary_folder(name: str, user: str | None = None, *, on_disk: bool = False) -> Path:
    """A new folder that carries this process's id, so that a later run can sweep it away."""
    place = base_folder(on_disk=on_disk)
    _sweep(place)
    prefix = f"{_PREFIX}{os.getpid()}-{name}-"
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    if user is not None:
        shutil.chown(folder, user)
    return folder


def run(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], user: str | None = None
) -> str:
    """Runs one set-up command to its end and returns what it printed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=180,
        check=False,
        **_credentials(user),
    )
    if done.returncode != 0:
        raise ServerFailed(f"{' '.join(command)}\n{done.stdout[-3000:]}")
    return done.stdout


class ServerProcess:
    """One running server program.

    It writes what it prints into `log`. `death_signal` is what the system sends it when this
    process ends without having stopped it.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        log: Path,
        user: str | None = None,
        death_signal: str = "KILL",
    ) -> None:
        self.log = log
        self._log_start = log.stat().st_size if log.exists() else 0
        guard = shutil.which("setpriv")
        prefix = [guard, "--pdeathsig", death_signal, "--"] if guard else []
        self._command = [*prefix, *command]
        with open(log, "ab") as output:
            start = partial(
                subprocess.Popen[bytes],
                self._command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C in the terminal is for pytest, which then stops its servers in order.
                start_new_session=True,
                **_credentials(user),
            )
            self._popen = _LAUNCHER.submit(start).result()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._popen.pid

    @property
    def running(self) -> bool:
        """Whether the process is still there."""
        return self._popen.poll() is None

    def wait_until(self, ready: Callable[[], bool], timeout: float = 90) -> None:
        """Waits until `ready()`; raises `ServerFailed` at the process's end or after `timeout`."""
        deadline = time.monotonic() + timeout
        while not ready():
            if not self.running:
                raise ServerFailed(f"{' '.join(self._command)}\nended at its start:\n{self.tail()}")
            if time.monotonic() > deadline:
                self.kill()
                raise ServerFailed(f"not ready after {timeout} seconds:\n{self.tail()}")
            time.sleep(0.02)

    def stop(self, with_signal: signal.Signals = signal.SIGTERM, timeout: float = 60) -> None:
        """Asks the process to end, and kills it when it has not after `timeout` seconds."""
        if not self.running:
            return
        self._popen.send_signal(with_signal)
        try:
            self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ServerFailed(f"did not stop in {timeout} seconds:\n{self.tail()}") from None

    def kill(self) -> None:
        """Ends the process and its children at once, as a crash does."""
        if not self.running:
            return
        # Stopped first, so that it starts no further child while its children are collected.
        self._popen.send_signal(signal.SIGSTOP)
        family = [self.pid, *_children(self.pid)]
        for pid in family:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._popen.wait()
        deadline = time.monotonic() + 10
        while any(is_alive(pid) for pid in family[1:]) and time.monotonic() < deadline:
            time.sleep(0.005)

    def tail(self, characters: int = 3000) -> str:
        """The end of what this process printed."""
        with open(self.log, errors="replace") as file:
            file.seek(self._log_start)
            return file.read()[-characters:]


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that only waits to be reaped does not. Linux only."""
    return _stat(pid)[:1] not in ([], ["Z"])


def _credentials(user: str | None) -> dict[str, Any]:
    if user is None:
        return {}
    entry = pwd.getpwnam(user)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _stat(pid: int) -> list[str]:
    """State and parent of a process (the fields after its name), empty where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _children(parent: int) -> list[int]:
    pids = [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if _stat(pid)[1:2] == [str(parent)]]


def _sweep(place: Path) -> None:
    """Removes what runs left behind that were killed before they could clean up."""
    for folder in place.glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if not owner.isdigit():
            continue
        try:
            os.kill(int(owner), 0)
        except ProcessLookupError:
            shutil.rmtree(folder, ignore_errors=True)
        except PermissionError:
            continue
