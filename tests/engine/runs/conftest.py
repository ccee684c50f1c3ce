"""A run of one's own in a home folder, made for one test."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace.runs.archive import RunArchive
from commonplace.runs.folder import RunFolder
from commonplace.values.run import RunDraft
from commonplace.values.scope import DEFAULT_TENANT


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def archive(tmp_path: Path) -> RunArchive:
    return RunArchive(tmp_path)


@pytest.fixture
def folder(archive: RunArchive, now: datetime) -> RunFolder:
    state = archive.create(DEFAULT_TENANT, "ana", RunDraft(run_id="r1", objective="Ship it"), now)
    return archive.folder(DEFAULT_TENANT, state.run_id)
