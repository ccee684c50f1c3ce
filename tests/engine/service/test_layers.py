"""Recall by layers: an abstract, an overview or the text, within a budget of tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import Forbidden
from commonplace.memory.context import context_block
from commonplace.service.desk import Desk
from commonplace.service.recall import Recalling
from commonplace.service.records import Records
from commonplace.service.tree import Browsing
from commonplace.testing.callers import caller, operator
from commonplace.text.tokens import estimate
from commonplace.values.context import ContextQuery
from commonplace.values.moment import from_ms
from commonplace.values.note import Note
from commonplace.values.query import Filter, Hit, Query, Why
from commonplace.values.record import Record
from commonplace.values.scope import Scope

pytestmark = pytest.mark.anyio

OWNER = operator()
LONG = "The lantern hangs in the hall. " + " ".join(f"Step {n} moves lantern {n % 7}." for n in range(600))


async def put(records: Records, *texts: str) -> list[Record]:
    writes = await records.put(OWNER, [Note(text=text, scope="workspace:web") for text in texts])
    return [write.record for write in writes]


@pytest.mark.parametrize(("layer", "least", "most"), [("L0", 1, 100), ("L1", 101, 2_000), ("L2", 2_001, 10_000)])
async def test_each_hit_is_told_by_the_layer_that_was_asked_for(
    records: Records, recalling: Recalling, layer: str, least: int, most: int
) -> None:
    await put(records, LONG)

    [hit] = await recalling.search(OWNER, Query(text="lantern", layer=layer))  # pyright: ignore[reportArgumentType]

    assert hit.layer is not None
    assert hit.layer.name == layer
    assert least <= hit.layer.tokens <= most
    assert hit.layer.text.startswith("The lantern hangs in the hall.")


async def test_a_search_tells_the_layer_that_was_made(desk: Desk, records: Records, recalling: Recalling) -> None:
    [record] = await put(records, LONG)
    abstract, _ = await Browsing(desk).generate(OWNER, record.id)

    [hit] = await recalling.search(OWNER, Query(text="lantern", layer="L0"))

    assert hit.layer is not None
    assert hit.layer.text == abstract.text


async def test_a_budget_shortens_hits_and_then_ends_the_list(records: Records, recalling: Recalling) -> None:
    await put(records, *(f"Hall {n}. {LONG}" for n in range(5)))

    hits = await recalling.search(OWNER, Query(text="lantern hall", budget=2_150, layer="L2"))

    layers = [hit.layer for hit in hits if hit.layer is not None]
    assert sum(layer.tokens for layer in layers) <= 2_150
    assert layers[0].name == "L1"
    assert {layer.name for layer in layers[1:]} == {"L0"}
    assert 2 <= len(hits) < 5
    assert await recalling.search(OWNER, Query(text="lantern", budget=1)) == []


async def test_without_a_layer_a_hit_has_none(records: Records, recalling: Recalling) -> None:
    await put(records, LONG)

    assert [hit.layer for hit in await recalling.search(OWNER, Query(text="lantern"))] == [None]


async def test_a_prompt_by_abstracts_holds_more_memories_than_one_by_texts(
    records: Records, recalling: Recalling
) -> None:
    await put(records, *(f"Hall {n}. {LONG}" for n in range(5)))

    short = await recalling.context(OWNER, ContextQuery(text="lantern hall", budget=900, layer="L0"))
    auto = await recalling.context(OWNER, ContextQuery(text="lantern hall", budget=6_000, layer="auto"))
    roomy = await recalling.context(OWNER, ContextQuery(text="lantern hall", budget=100_000, layer="auto"))

    assert (len(short.records), short.left_out) == (5, 0)
    assert short.tokens <= 900
    assert 900 < auto.tokens <= 6_000
    assert len(auto.records) == 5
    assert roomy.text.count("moves lantern") == 5 * 600


async def test_layers_reach_no_further_than_the_search(records: Records, recalling: Recalling) -> None:
    await records.put(caller("writer", name="bo"), [Note(text=LONG, scope="user:bo")])
    ada = caller("writer", name="ada")

    assert await recalling.search(ada, Query(text="lantern", layer="L0")) == []
    assert (await recalling.context(ada, ContextQuery(text="lantern", layer="auto"))).records == ()
    with pytest.raises(Forbidden):
        await recalling.context(
            ada, ContextQuery(text="lantern", filter=Filter(scopes=(Scope("user", "bo"),)), layer="L0")
        )


WORDS = st.lists(st.sampled_from(["lantern", "hall", "tea", "box", "step"]), min_size=1, max_size=60).map(" ".join)


def hit(number: int, text: str) -> Hit:
    record = Record(
        id=f"r{number}", scope=Scope("workspace", "web"), text=text, created_at=from_ms(0), updated_at=from_ms(0)
    )
    return Hit(record, 1.0, Why({}, (), 0, len(text)))


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=6), st.integers(min_value=0, max_value=1_000))
def test_a_block_by_layers_never_has_more_than_its_budget(texts: list[tuple[str, str, str]], budget: int) -> None:
    hits = [hit(number, full) for number, (_, _, full) in enumerate(texts)]
    tellings = {f"r{number}": tuple(sorted(each, key=len)) for number, each in enumerate(texts)}

    block = context_block([], hits, budget, estimate, tellings)

    assert block.tokens <= budget
    assert len(block.records) + block.left_out == len(texts)
