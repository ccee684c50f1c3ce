"""Which store, which embedders: what an address and the words around it open."""

import warnings
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commonplace import open_memory, open_memory_async, restore_backup
from commonplace.embedders import static
from commonplace.errors import (
    EmbedderChanged,
    InvalidFile,
    InvalidInput,
    InvalidScope,
    NotAStore,
    PathNotFound,
)
from commonplace.ports.embedder import Floats
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock


class Hashing:
    """An embedder whose vectors mean nothing, and which remembers what it was asked."""

    def __init__(self, dimension: int = 8) -> None:
        self.dimension = dimension
        self.name = f"hashing-{dimension}"
        self.asked: list[str] = []
        self.closed = False

    async def embed(self, texts: Sequence[str]) -> Floats:
        self.asked += texts
        rows = [np.frombuffer(sha256(text.encode()).digest()[: self.dimension], dtype=np.uint8) for text in texts]
        floats = np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension) - 127.5
        return floats / np.linalg.norm(floats, axis=1, keepdims=True)

    async def aclose(self) -> None:
        self.closed = True


def test_without_an_address_it_is_the_one_in_the_home_folder(home: Path) -> None:
    with open_memory() as memory:
        memory.put("at home")

    assert (home / "memory.db").exists()
    assert home.stat().st_mode & 0o077 == 0


def test_in_a_home_folder_that_is_open_to_others_the_memory_is_not(home: Path) -> None:
    home.mkdir(mode=0o755)
    with open_memory() as memory:
        memory.put("at home")
        files = [path for path in home.iterdir() if path.name.startswith("memory.db")]

        assert len(files) > 1
        assert [path.name for path in files if path.stat().st_mode & 0o077] == []


def test_the_environment_names_a_store_a_tenant_and_an_embedder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_STORE", str(tmp_path / "elsewhere.db"))
    monkeypatch.setenv("COMMONPLACE_TENANT", "acme/web")
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "none")

    with open_memory() as memory:
        assert (memory.tenant, memory.embedders) == ("acme/web", ())

    assert (tmp_path / "elsewhere.db").exists()


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(PathNotFound):
        open_memory(tmp_path / "nowhere" / "team.db")

    assert not (tmp_path / "nowhere").exists()


def test_a_store_that_is_not_there_is_not_made_unless_wanted(tmp_path: Path) -> None:
    with pytest.raises(PathNotFound):
        open_memory(tmp_path / "team.db", create=False)

    assert not (tmp_path / "team.db").exists()


def test_a_folder_is_not_a_store(tmp_path: Path) -> None:
    with pytest.raises(PathNotFound):
        open_memory(tmp_path)


@pytest.mark.parametrize("address", ["mysql://host/db", "", "http://host/memory.db"])
def test_an_address_of_something_else_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput):
        open_memory(address)


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Ana, " * 200)

    with pytest.raises(NotAStore):
        open_memory(path)

    assert path.read_text() == "Dear Ana, " * 200


def test_a_tenant_is_an_organisation_and_a_project() -> None:
    with pytest.raises(InvalidScope):
        open_memory(":memory:", tenant="acme")


@pytest.mark.parametrize("address", [":memory:", "memory:"])
def test_a_memory_in_memory_is_gone_when_it_is_closed(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    with open_memory(address) as memory:
        memory.put("passing")
        assert list(tmp_path.glob("commonplace-*"))

    assert not list(tmp_path.glob("commonplace-*"))


def test_tenants_of_one_store_do_not_see_each_other(tmp_path: Path) -> None:
    with open_memory(tmp_path / "a.db", tenant="acme/web") as ours, open_memory(tmp_path / "a.db") as theirs:
        ours.put("ours")

        assert theirs.search("ours") == []
        assert theirs.list().records == ()


# ---- embedders


def test_a_new_store_takes_the_static_table_and_keeps_it(tmp_path: Path) -> None:
    with open_memory(tmp_path / "a.db") as memory:
        first = memory.embedders
    with open_memory(tmp_path / "a.db") as memory:
        again = memory.embedders

    assert first == again == (static.StaticEmbedder().name,)


def test_where_the_table_is_missing_words_are_searched_and_a_warning_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static, "TABLE", tmp_path / "nothing")

    with pytest.warns(UserWarning, match="words only"):
        opened = open_memory(tmp_path / "a.db")
    with opened as memory:
        memory.put("we deploy with make ship")

        assert memory.embedders == ()
        assert [hit.record.text for hit in memory.search("deploy")] == ["we deploy with make ship"]


def test_a_store_made_without_an_embedder_stays_so(tmp_path: Path) -> None:
    with open_memory(tmp_path / "a.db", embedder="none") as memory:
        memory.put("one")
    with warnings.catch_warnings(), open_memory(tmp_path / "a.db") as memory:
        warnings.simplefilter("error")

        assert memory.embedders == ()


def test_another_embedder_than_the_stores_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    with open_memory(tmp_path / "a.db") as memory:
        memory.put("one")
        before = memory.stats().embedders

    for other in ("none", Hashing()):
        with pytest.raises(EmbedderChanged) as refused:
            open_memory(tmp_path / "a.db", embedder=other)
        assert refused.value.code == "embedder_changed"
    with open_memory(tmp_path / "a.db") as memory:
        assert memory.stats().embedders == before
        assert {finding.severity for finding in memory.check()} == {"ok"}


def test_an_empty_store_may_change_its_mind(tmp_path: Path) -> None:
    open_memory(tmp_path / "a.db").close()

    with open_memory(tmp_path / "a.db", embedder=Hashing()) as memory:
        assert memory.stats().embedders == {"hashing-8": 8}


def test_reindex_takes_the_new_embedder_and_drops_the_old(tmp_path: Path) -> None:
    with open_memory(tmp_path / "a.db", embedder=Hashing(8)) as memory:
        memory.put_many([])
        memory.put("one")
    with open_memory(tmp_path / "a.db", embedder=Hashing(16), reindex=True) as memory:
        count = memory.reindex()

        assert count == 1
        assert memory.stats().embedders == {"hashing-16": 16}
        assert {finding.severity for finding in memory.check()} == {"ok"}


def test_a_store_that_took_another_embedder_is_reindexed_before_it_is_closed(tmp_path: Path) -> None:
    with open_memory(tmp_path / "a.db", embedder=Hashing(8)) as memory:
        memory.put("one")
    with open_memory(tmp_path / "a.db", embedder="static", reindex=True):
        pass

    with open_memory(tmp_path / "a.db") as memory:
        assert {finding.severity for finding in memory.check()} == {"ok"}
        assert memory.search("one", mode="meaning")


def test_an_embedder_given_as_an_object_must_be_given_again(tmp_path: Path) -> None:
    with open_memory(tmp_path / "a.db", embedder=Hashing()) as memory:
        memory.put("one")

    with pytest.raises(EmbedderChanged):
        open_memory(tmp_path / "a.db")
    given = Hashing()
    with open_memory(tmp_path / "a.db", embedder=given) as memory:
        assert memory.search("one", mode="meaning")
    assert not given.closed


def test_several_embedders_work_side_by_side(tmp_path: Path) -> None:
    both: list[Any] = [Hashing(8), Hashing(16)]

    with open_memory(tmp_path / "a.db", embedder=both) as memory:
        memory.put("one")

        assert memory.stats().embedders == {"hashing-8": 8, "hashing-16": 16}
    with pytest.raises(EmbedderChanged):
        open_memory(tmp_path / "a.db", embedder=both[:1])


def test_the_same_embedder_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        open_memory(tmp_path / "a.db", embedder=[Hashing(), Hashing()])


def test_an_embedder_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        open_memory(tmp_path / "a.db", embedder="crystal-ball")


def test_an_openai_embedder_of_a_store_is_made_again_from_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Hashing()
    service.name = "openai:small#8"
    with open_memory(tmp_path / "a.db", embedder=service) as memory:
        memory.put("we deploy with make ship")
    # Nobody listens there.
    monkeypatch.setenv("COMMONPLACE_OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    with open_memory(tmp_path / "a.db") as memory:
        assert memory.embedders == ("openai:small#8",)
        assert memory.list().records[0].text == "we deploy with make ship"


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["openai:m@http://127.0.0.1:9/v1", "sentence-transformers:model#12345678"])
async def test_a_store_of_a_stranger_names_neither_an_address_nor_a_folder_to_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model#12345678").mkdir()
    store = await SqliteStore.open(tmp_path / "theirs.db", FakeClock())
    await store.maintenance.set_embedders({name: 3})
    await store.aclose()

    with pytest.raises(EmbedderChanged):
        await open_memory_async(tmp_path / "theirs.db")


# ---- backups


def test_a_backup_is_restored_into_a_new_store(tmp_path: Path) -> None:
    with open_memory(tmp_path / "a.db") as memory:
        record = memory.put("worth keeping")
        memory.backup(tmp_path / "backup.db")

    restore_backup(tmp_path / "backup.db", tmp_path / "b.db")

    with open_memory(tmp_path / "b.db") as memory:
        assert memory.get(record.id) == record
        assert [hit.record.id for hit in memory.search("keeping")] == [record.id]


def test_a_backup_is_not_restored_over_what_is_there(tmp_path: Path) -> None:
    with open_memory(tmp_path / "a.db") as memory:
        memory.put("worth keeping")
        memory.backup(tmp_path / "backup.db")

    with pytest.raises(InvalidFile):
        restore_backup(tmp_path / "backup.db", tmp_path / "a.db")


def test_a_backup_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(PathNotFound):
        restore_backup(tmp_path / "backup.db", tmp_path / "a.db")


def test_what_is_no_backup_leaves_no_store_behind(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("not a backup")

    with pytest.raises(InvalidFile):
        restore_backup(tmp_path / "letter.txt", tmp_path / "new.db")

    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]
