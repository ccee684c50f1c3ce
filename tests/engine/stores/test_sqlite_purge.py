# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""A purge leaves no row in any table that holds what records say, or what was made of it."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from commonplace.ports.knowledge import Layer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import DIMENSION, EMBEDDER, Drafting
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.scope import DEFAULT_TENANT

TABLES = ("records", "versions", "contents", "passages", "vectors", "layers", "words_docsize", "scopes")


@pytest.mark.anyio
async def test_a_purge_takes_all_that_was_made_of_a_record_along(
    store: SqliteStore, tmp_path: Path, clock: FakeClock
) -> None:
    draft = Drafting(clock)
    await store.maintenance.set_embedders({EMBEDDER: DIMENSION})
    [written] = await store.records.put([draft("The key lies under the mat", key="key")])
    record = replace(written.record, text="The key lies in the shed")
    await store.records.revise([replace(draft(record.text), record=record, expected=1)])
    layer = Layer(record=record.id, version=2, name="L0", text="where the key is", tokens=4)
    await store.knowledge.put_layers(DEFAULT_TENANT, [layer])
    assert 0 not in counts(tmp_path / "memory.db").values()

    await store.records.purge(DEFAULT_TENANT, [Filter(ids=(record.id,), states=ALL_STATES)])

    assert counts(tmp_path / "memory.db") == dict.fromkeys(TABLES, 0)


def counts(path: Path) -> dict[str, int]:
    with closing(apsw.Connection(str(path))) as db:
        return {table: db.execute(f"SELECT count(*) FROM {table}").get for table in TABLES}
