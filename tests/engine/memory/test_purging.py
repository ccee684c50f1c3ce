"""A purge takes the cached vectors of all that a record ever said, and of nothing else."""

from itertools import chain

import pytest

from commonplace.markdown.purge import NoFiles
from commonplace.memory.lifecycle import Lifecycle
from commonplace.memory.prepare import Told, stretches
from commonplace.memory.purging import Purger
from commonplace.memory.write import Writer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.text.digest import text_hash
from commonplace.text.tokens import estimate
from commonplace.values.note import Note
from commonplace.values.record import Record
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

EMBEDDER = "far-2"


def hashes_of(record: Record) -> list[bytes]:
    return [text_hash(spoken) for _, _, spoken in stretches(Told.by(record), estimate)]


async def test_the_cached_vectors_of_every_version_go_with_a_record(
    store: SqliteStore, writer: Writer, lifecycle: Lifecycle
) -> None:
    [first, other] = await writer.put(
        [Note(text="The first wording", speaker="Ann"), Note(text="Somebody else's", key="other")]
    )
    versions = [
        first.record,
        await lifecycle.edit(first.record.id, {"text": "The second wording"}),
        await lifecycle.edit(first.record.id, {"text": "The third wording, " + "long enough for passages. " * 200}),
        await lifecycle.edit(first.record.id, {"text": "The last wording"}),
    ]
    hashes = list(chain.from_iterable(map(hashes_of, versions)))
    kept = hashes_of(other.record)
    await store.vectors.cache(EMBEDDER, dict.fromkeys([*hashes, *kept], b"\x01\x02"))

    purger = Purger(store.records, store.vectors, DEFAULT_TENANT, estimate, NoFiles())
    await purger.purge(ids=[first.record.id], scope=None, user=None, source=None)

    assert len({*hashes}) > len(versions)
    assert await store.vectors.cached(EMBEDDER, hashes) == {}
    assert [*await store.vectors.cached(EMBEDDER, kept)] == kept
