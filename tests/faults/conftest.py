"""The fixture of these tests: a case, generated and installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.harness import Case, Stand
from tests.servers import Database


@pytest.fixture
def stand(database: Database, case: Case, tmp_path: Path) -> Stand:
    """The test's case (see `on_cases`) on its database."""
    return Stand(case, database, tmp_path)
