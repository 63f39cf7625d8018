"""`python -m tests.servers` finds or fetches every server program, and prints its version and what runs
it in a shell."""

from __future__ import annotations

import sys

from . import packages, programs


def main() -> int:
    """Returns 0 when every program is there, 1 when one is neither found nor to be had."""
    status = 0
    for name in programs.NAMES:
        try:
            program = programs.find(name)
        except programs.ProgramMissing:
            print(f"{name}: fetching Debian's packages into {programs.cache_folder()}", flush=True)
            try:
                packages.fetch(name)
                program = programs.find(name)
            except (packages.FetchFailed, programs.ProgramMissing) as error:
                print(f"{name}: {error}", file=sys.stderr)
                status = 1
                continue
        print(f"{name}: {program.version_text()}\n    {program.by_hand()}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
