"""The command line: the only package that prints and exits.

Exit codes: 0 fine, 1 a check found a difference, 2 the input or the call is wrong. What a command
needs is imported when it runs, so that starting is quick.
"""

from __future__ import annotations

import gc
import io
import os
import sys


def main() -> None:
    """The command `sqlclaimgen`."""
    # a short run ends before this: looking for garbage takes a tenth of it. Hundreds of tables go beyond,
    # and rendering leaves 2 MB of cycles for each
    gc.set_threshold(200_000)
    # plugins are the business of programs; looking for them reads every installed package
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # a stream that was closed, as by `>&-`, is None
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    for stream in (sys.stdout, sys.stderr):
        # a terminal that lacks a character is no reason to stop
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    from sqlclaimgen.cli.app import app

    app()
