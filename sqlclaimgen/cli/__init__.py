"""The command line: the only package that prints and exits.

Exit codes: 0 fine, 1 a check found a difference, 2 the input or the call is wrong. What a command
needs is imported when it runs, so that starting is quick.
"""

from __future__ import annotations


def main() -> None:
    """The command `sqlclaimgen`."""
    from sqlclaimgen.cli.app import app

    app()
