"""What a home trusts, and where it is kept."""

from pathlib import Path

import pytest

from commonplace.errors import InvalidFile
from commonplace.workspace.file import WorkspaceFile
from commonplace.workspace.ledger import TrustLedger


def file(folder: Path, digest: str = "a") -> WorkspaceFile:
    return WorkspaceFile(folder=folder, path=folder / ".commonplace" / "config.toml", digest=digest)


def test_a_folder_is_trusted_with_its_file_and_with_no_other(home: Path, tmp_path: Path) -> None:
    TrustLedger(home).add_folder(file(tmp_path))

    ledger = TrustLedger(home)
    assert ledger.trusts(file(tmp_path))
    assert not ledger.trusts(file(tmp_path, "b"))
    assert not ledger.trusts(file(tmp_path / "other"))


def test_a_home_that_trusts_nothing_has_no_file(home: Path, tmp_path: Path) -> None:
    ledger = TrustLedger(home)

    assert not ledger.trusts(file(tmp_path))
    assert ledger.mark_of(tmp_path) is None
    assert not home.exists()


def test_nobody_else_can_read_what_a_home_trusts(home: Path, tmp_path: Path) -> None:
    ledger = TrustLedger(home)
    ledger.add_folder(file(tmp_path))
    ledger.add_store(tmp_path / "memory.db", "mark")

    assert ledger.path.stat().st_mode & 0o077 == 0
    assert home.stat().st_mode & 0o077 == 0
    # Nothing half-written is left beside it.
    assert list(home.iterdir()) == [ledger.path]


def test_what_is_removed_is_gone_and_the_rest_stays(home: Path, tmp_path: Path) -> None:
    ledger = TrustLedger(home)
    ledger.add_folder(file(tmp_path))
    ledger.add_folder(file(tmp_path / "other"))
    ledger.add_store(tmp_path / "memory.db", "mark")

    assert ledger.remove_folder(tmp_path)
    assert not ledger.remove_folder(tmp_path)
    assert list(ledger.folders()) == [str(tmp_path / "other")]
    assert ledger.remove_store(tmp_path / "memory.db")
    assert not ledger.stores()


def test_a_store_is_the_same_by_every_path_to_it(home: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    ledger = TrustLedger(home)
    ledger.add_store(tmp_path / "link" / "memory.db", "mark")

    assert ledger.mark_of(tmp_path / "memory.db") == "mark"


@pytest.mark.parametrize("text", ["{", "[]", '{"folders": []}', '{"stores": {"a": 1}}', "\udcff"])
def test_a_damaged_file_trusts_nothing_and_is_not_overwritten(home: Path, tmp_path: Path, text: str) -> None:
    home.mkdir()
    ledger = TrustLedger(home)
    ledger.path.write_bytes(text.encode(errors="surrogateescape"))

    with pytest.raises(InvalidFile):
        ledger.trusts(file(tmp_path))
    with pytest.raises(InvalidFile):
        ledger.add_folder(file(tmp_path))

    assert ledger.path.read_bytes() == text.encode(errors="surrogateescape")
