# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""After a purge nothing of a record is left: the files are searched for its bytes, not asked for its rows."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from commonplace import Memory, Record, Turn, open_memory
from commonplace.embedders.static import StaticEmbedder
from commonplace.errors import RecordNotFound
from commonplace.text.analyse import terms
from commonplace.text.postings import term_hash, written_hash
from commonplace.values.vector import to_bytes

FIRST = "Quixotic zebras juggle marmalade"
SECOND = "Vexed walruses polish bassoons"
LAST = "Nimble ocelots forge tangerines"
KEPT = "Patient lighthouse keepers repaint the harbour wall"
TRACES = (*FIRST.split(), *SECOND.split(), *LAST.split(), FIRST, SECOND, LAST)
ATTRIBUTES = ("secret-key", "confidential-tag", "whispered-value", "hidden-speaker", "unknown-run", "vanishing-reason")


def bytes_of(path: Path) -> bytes:
    """The database, its log and its shared memory."""
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def traces(path: Path, told: tuple[str, ...]) -> list[str]:
    there = bytes_of(path)
    folded = there.lower()
    found = [trace for trace in told if trace.encode() in there or trace.lower().encode() in folded]
    vectors = to_bytes(StaticEmbedder().embed_now([text for text in told if " " in text]))
    found += ["a vector" for vector in vectors if vector in there]
    found += ["a word" for term in _indexed(path) if term in {term_hash(word) for text in told for word in terms(text)}]
    return found


def _indexed(path: Path) -> set[int]:
    """The hashes in the word index, whose terms are `<scope>z<hash>`."""
    db = apsw.Connection(str(path))
    db.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab (main, words, row)")
    hashes = {int(term.partition("z")[2], 16) for (term,) in db.execute("SELECT term FROM temp.vocabulary")}
    db.close()
    return hashes


def write(memory: Memory, **fields: str) -> Record:
    """One record of three versions, unusual in all it has."""
    record = memory.put(
        FIRST,
        key=ATTRIBUTES[0],
        tags=[ATTRIBUTES[1]],
        metadata={"note": ATTRIBUTES[2]},
        run=ATTRIBUTES[4],
        **{"scope": "workspace:zoo", "speaker": ATTRIBUTES[3]} | fields,  # pyright: ignore[reportArgumentType]
    )
    memory.edit(record.id, text=SECOND, reason=ATTRIBUTES[5])
    memory.pin(record.id)
    return memory.edit(record.id, text=LAST)


@pytest.fixture
def memory(path: Path) -> "Memory":
    return open_memory(path)


# What the record is written with, and what is purged; without a name it is the record itself.
PURGES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "record": ({}, {}),
    "scope": ({}, {"scope": "workspace:zoo"}),
    "source": ({"source": "leak"}, {"source": "leak"}),
    "user by scope": ({"scope": "user:ana"}, {"user": "ana"}),
    "user by speaker": ({"speaker": "ana"}, {"user": "ana"}),
}


@pytest.mark.parametrize("what", PURGES)
@pytest.mark.parametrize("deleted", [False, True], ids=["live", "deleted"])
def test_a_purge_leaves_no_trace_in_the_files(path: Path, memory: Memory, what: str, deleted: bool) -> None:
    fields, named = PURGES[what]
    told = (*TRACES, *(trace for trace in ATTRIBUTES if "speaker" not in fields or trace != ATTRIBUTES[3]))
    with memory:
        kept = memory.put(KEPT, scope="workspace:harbour", key="wall", tags=["paint"])
        record = write(memory, **fields)
        if deleted:
            memory.delete(record.id)
        assert set(traces(path, told)) >= set(told)

        ids = () if named else [record.id]
        memory.purge(ids=ids, scope=named.get("scope"), user=named.get("user"), source=named.get("source"))

        assert traces(path, told) == []
        with pytest.raises(RecordNotFound):
            memory.get(record.id)
        assert memory.get(kept.id) == kept
        assert [hit.record.id for hit in memory.search("lighthouse keepers")] == [kept.id]
        assert [finding for finding in memory.check() if finding.severity == "error"] == []
    assert traces(path, told) == []


def test_turns_and_long_texts_are_purged_from_every_page(path: Path, memory: Memory) -> None:
    long = "\n\n".join(f"{FIRST} number{n}" for n in range(3_000))
    with memory:
        kept = [memory.put(f"{KEPT} {n}", scope="workspace:harbour") for n in range(50)]
        memory.put(long, scope="user:ana")
        memory.add_turns(
            "chat", [Turn(speaker="ben", text=SECOND), Turn(speaker="ana", text=LAST)], scope="channel:room"
        )
        assert set(traces(path, TRACES)) >= set(TRACES)

        purged = memory.purge(user="ana")

        ben = memory.search(SECOND, scopes="channel:room")
        assert purged.records == 2
        assert [hit.record.text for hit in ben] == [SECOND]
        assert traces(path, (*FIRST.split(), *LAST.split(), FIRST, LAST)) == []
        assert memory.stats().records == len(kept) + 1


def test_a_purge_waits_for_a_reader_who_still_looks_at_the_past(path: Path, memory: Memory) -> None:
    with memory, ThreadPoolExecutor(1) as aside:
        record = write(memory)
        reader = apsw.Connection(str(path))
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM records").get == 1

        purging = aside.submit(memory.purge, ids=[record.id])
        deadline = time.monotonic() + 5
        while memory.stats().records and time.monotonic() < deadline:
            pass
        assert reader.execute("SELECT count(*) FROM records").get == 1
        reader.execute("COMMIT")

        assert purging.result(timeout=5).records == 1
        reader.close()
        assert traces(path, TRACES) == []


def test_what_is_only_deleted_is_still_there_and_comes_back(path: Path, memory: Memory) -> None:
    with memory:
        record = write(memory)

        memory.delete(record.id)

        assert set(traces(path, TRACES)) >= set(TRACES)
        assert memory.search(LAST) == []
        assert memory.undo(record.id).text == LAST
        assert [hit.record.id for hit in memory.search(LAST)] == [record.id]


def left_in_the_index(path: Path, text: str) -> set[str]:
    """Words of the text of whose hash the end stands in the bytes of the word index, deleted or not."""
    # A page of the index shortens a term by the beginning that it shares with the one before.
    db = apsw.Connection(str(path))
    blocks = b"".join(block for (block,) in db.execute("SELECT block FROM words_data"))
    db.close()
    return {word for word in terms(text) if written_hash(term_hash(word))[-5:].encode() in blocks}


def test_a_purge_leaves_no_hash_of_a_word_in_the_bytes_of_the_word_index(path: Path, memory: Memory) -> None:
    with memory:
        memory.put(KEPT, scope="workspace:zoo")
        record = write(memory)
        before = left_in_the_index(path, LAST)

        memory.purge(ids=[record.id])

        assert before == set(terms(LAST))
        assert left_in_the_index(path, f"{FIRST} {SECOND} {LAST}") == set()
        assert left_in_the_index(path, KEPT) == set(terms(KEPT))
