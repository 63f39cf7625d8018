"""A server that is a process of its own, with a data folder and a port."""

from __future__ import annotations

import shutil
import signal
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from .base import D, Server
from .processes import ServerFailed, ServerProcess, free_port, temporary_folder
from .programs import Program, find


class Daemon(Server[D]):
    """The life of a server process: data set up once, started, stopped and killed at will."""

    program_name: ClassVar[str]
    user: str | None = None
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    death_signal: ClassVar[str] = "KILL"

    def __init__(
        self, settings: Mapping[str, str | int] | None = None, *, durable: bool = False
    ) -> None:
        super().__init__(settings, durable=durable)
        self.port = 0
        self._folder: Path | None = None
        self._process: ServerProcess | None = None
        self._program: Program | None = None

    @property
    def program(self) -> Program:
        """The server's program; raises `ProgramMissing`."""
        if self._program is None:
            self._program = find(self.program_name)
        return self._program

    @property
    def folder(self) -> Path:
        """The folder that holds the server's data and its log."""
        if self._folder is None:
            folder = temporary_folder(self.dialect, self.user, on_disk=self.durable)
            try:
                self.initialize(folder)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self._folder = folder
        return self._folder

    @property
    def running(self) -> bool:
        """Whether the server's process is there."""
        return self._process is not None and self._process.running

    @property
    def pid(self) -> int:
        """The id of the server's process."""
        if self._process is None:
            raise ServerFailed(f"{self.dialect} was never started")
        return self._process.pid

    def start(self) -> None:
        """Starts the server and waits until it answers; on a new port only the first time."""
        if self.running:
            return
        folder = self.folder
        if self.port:
            self._launch(folder)
            return
        for attempt in (1, 2, 3):
            self.port = free_port()
            try:
                self._launch(folder)
                return
            except ServerFailed:
                # Another process may have taken the port meanwhile.
                self.port = 0
                if attempt == 3:
                    raise

    def stop(self) -> None:
        """Stops the server in order."""
        self.disconnect()
        if self._process is not None:
            self._process.stop(self.stop_signal)

    def kill(self) -> None:
        """Kills the server's processes."""
        if self._process is not None:
            self._process.kill()
        self.disconnect()

    def close(self) -> None:
        """Stops the server and removes its data."""
        try:
            self.stop()
        finally:
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
            self._folder, self._process, self.port = None, None, 0

    def log(self) -> str:
        """The end of what the server's process printed."""
        return self._process.tail() if self._process else ""

    def _launch(self, folder: Path) -> None:
        self._process = ServerProcess(
            self.command(folder),
            folder=folder,
            environment=self.program.variables(),
            log=folder / "server.log",
            user=self.user,
            death_signal=self.death_signal,
        )
        self._process.wait_until(self.ready)
        self.version = self.ask_version()

    @abstractmethod
    def initialize(self, folder: Path) -> None:
        """Creates the data in an empty folder."""

    @abstractmethod
    def command(self, folder: Path) -> list[str]:
        """The command line that runs the server on `self.port`."""

    @abstractmethod
    def ready(self) -> bool:
        """Whether the server answers."""

    @abstractmethod
    def ask_version(self) -> str:
        """The version the running server reports."""
