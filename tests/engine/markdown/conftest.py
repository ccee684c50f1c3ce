"""Two roots of memory, made for one test."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace.testing.managed import Place


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.below(tmp_path)
