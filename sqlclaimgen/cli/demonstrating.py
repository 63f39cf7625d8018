"""`demo`: a crash and its recovery, told line by line."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from sqlclaimgen.cli import console
from sqlclaimgen.cli.console import FINE
from sqlclaimgen.demo import DemoFailed, run


def demo(folder: Path | None) -> int:
    """Run it in `folder`, which is kept, or in one that is removed. Returns the exit code."""
    with contextlib.ExitStack() as stack:
        if folder is None:
            made = tempfile.TemporaryDirectory(
                prefix="sqlclaimgen-demo-", ignore_cleanup_errors=True
            )
            place = Path(stack.enter_context(made))
        else:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                console.fail(f"{folder} is not empty", "Name a new folder.")
            place = folder
        try:
            run(place, _say, _head)
        except DemoFailed as error:
            console.fail(str(error), "Please report this: it should not happen.")
    if folder is not None:
        console.out(f"\nEverything is in {folder}.")
    return FINE


def _say(line: str) -> None:
    # a line must be seen when it happens, in a pipe too
    print(line, flush=True)


def _head(line: str) -> None:
    console.out()
    console.out(line, "bold")
