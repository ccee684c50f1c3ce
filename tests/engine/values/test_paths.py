"""Paths as people write them."""

from pathlib import Path

import pytest

from commonplace.errors import InvalidInput
from commonplace.values.paths import expand_path


def test_the_home_folder_stands_for_a_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert expand_path("~/notes") == tmp_path / "notes"
    assert expand_path(Path("notes/~")) == Path("notes/~")


@pytest.mark.parametrize("path", ["~nosuchuser", "~nosuchuser/notes", "a\0b", "~\0"])
def test_what_can_be_no_path_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput):
        expand_path(path)
