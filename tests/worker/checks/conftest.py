"""What these tests share: a case on a database, and a worker's look at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.harness import Case, Stand
from tests.servers import Database
from tests.worker.checks.looking import Looking


@pytest.fixture
def stand(database: Database, case: Case, tmp_path: Path) -> Stand:
    """The test's case (see `on_cases`) on its database."""
    return Stand(case, database, tmp_path)


@pytest.fixture
def looking(stand: Stand) -> Looking:
    """Looks at `stand` as a worker does before its first claim."""
    return Looking(stand)
