from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import AsyncMemory, open_memory_async
from commonplace.errors import CommonplaceError
from commonplace.memory.relevance import (
    DISTANCE,
    FLOOR,
    LARGE,
    STATIC,
    STATIC_CJK,
    Nearness,
    answering,
    calibration,
    is_relevant,
    relevance,
)

ROOT = Path(__file__).parents[3]
SHARES = st.floats(0.0, 1.0)
COSINES = st.one_of(st.floats(-1.0, 1.0), st.just(float("nan")))


def near(coverage: list[float], cosine: list[float]) -> Nearness:
    return Nearness(coverage=np.array(coverage), cosines={"static-256.2": np.array(cosine)})


def alone(coverage: float, cosine: float, passages: int = 1) -> float:
    return float(relevance(near([coverage], [cosine]), (), passages, {"static-256.2": STATIC})[0])


@given(st.lists(st.tuples(SHARES, COSINES), max_size=12), st.integers(0, 10**7))
def test_relevance_is_a_chance(pairs: list[tuple[float, float]], passages: int):
    own = near([share for share, _ in pairs], [cosine for _, cosine in pairs])

    values = relevance(own, (own,), passages, {"static-256.2": STATIC})

    assert len(values) == len(pairs)
    assert ((values >= 0.0) & (values <= 1.0)).all()


@given(SHARES, SHARES, st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
def test_what_is_nearer_is_never_less_relevant(few: float, many: float, far: float, close: float):
    few, many = sorted((few, many))
    far, close = sorted((far, close))

    assert alone(few, far) <= alone(many, close)


def test_the_same_nearness_means_less_among_more_passages():
    assert alone(0.6, 0.4, 10) > alone(0.6, 0.4, 10_000)


@given(st.floats(0.0, 200.0), st.floats(0.0, 200.0), st.integers(1, 10**7))
def test_more_words_in_common_are_never_less_relevant_and_in_a_small_memory_change_nothing(
    few: float, many: float, passages: int
):
    few, many = sorted((few, many))
    poor, rich = (Nearness(coverage=np.array([0.5]), cosines={}, words=np.array([amount])) for amount in (few, many))

    less, more = (float(relevance(own, (), passages, {})[0]) for own in (poor, rich))

    assert less <= more
    assert less == more or passages > LARGE


def test_a_long_question_held_in_words_is_told_from_a_short_one_in_a_large_memory():
    short, long = (Nearness(coverage=np.array([0.8]), cosines={}, words=np.array([amount])) for amount in (12.0, 45.0))

    assert relevance(short, (), 30_000, {})[0] < relevance(long, (), 30_000, {})[0]


def test_a_turn_has_a_part_of_what_the_turns_beside_it_have():
    own, beside, nobody = near([0.0], [0.0]), near([1.0], [0.8]), near([0.0], [float("nan")])
    curves = {"static-256.2": STATIC}

    with_help = relevance(own, (beside, nobody), 100, curves)[0]
    assert relevance(own, (nobody, nobody), 100, curves)[0] < with_help < relevance(beside, (), 100, curves)[0]


def test_a_hit_without_a_vector_is_judged_by_its_words():
    unknown = relevance(near([1.0], [float("nan")]), (), 3, {"static-256.2": STATIC})[0]

    assert unknown == relevance(Nearness(coverage=np.array([1.0]), cosines={}), (), 3, {})[0] > FLOOR


def test_chinese_questions_have_a_curve_of_their_own():
    assert calibration("static-256.2", "谁对花生过敏") is STATIC_CJK
    assert calibration("static-256.2", "who is allergic to peanuts?") is STATIC
    assert calibration("openai:text-embedding-3-small", "who is allergic?") is STATIC


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12))
def test_the_floor_judges_the_question_and_the_distance_each_hit(values: list[float]):
    relevant = is_relevant(np.array(values))

    best = max(values)
    assert relevant.any() == (best >= FLOOR)
    assert all(
        flag == (best >= FLOOR and value >= DISTANCE * best) for value, flag in zip(values, relevant, strict=True)
    )


# ---- through the memory


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncGenerator[AsyncMemory]:
    async with open_memory_async(tmp_path / "memory.db", embedder="static") as opened:
        yield opened


@pytest.mark.anyio
async def test_one_record_answers_its_question_and_no_other(memory: AsyncMemory):
    await memory.put("Deploy with make ship from the repo root, then check /health.")

    [hit] = await memory.search("how do we deploy?")
    [other] = await memory.search("who painted the Mona Lisa?")

    assert hit.relevant
    assert hit.relevance > 0.7
    assert not other.relevant
    assert other.relevance < FLOOR


@pytest.mark.anyio
async def test_nonsense_has_no_context_and_what_came_nearest_on_request(memory: AsyncMemory):
    await memory.put("Deploy with make ship from the repo root.")
    await memory.put("Ana prefers window seats on long flights.")

    nothing = await memory.context("zzyzx quuxly flibber")
    everything = await memory.context("zzyzx quuxly flibber", min_relevance=0.0)

    assert nothing.text == ""
    assert not nothing.records
    assert len(everything.records) == 2


@pytest.mark.anyio
async def test_hits_below_the_relevance_asked_for_are_left_out(memory: AsyncMemory):
    await memory.put("Ana prefers window seats on long flights.")
    await memory.put("The office plants are watered on Mondays.")

    hits = await memory.search("which seat does Ana prefer?", min_relevance=0.5)

    assert [hit.record.text for hit in hits] == ["Ana prefers window seats on long flights."]
    assert answering(hits, 0.5) == hits


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "much"])
@pytest.mark.anyio
async def test_a_relevance_that_is_no_chance_is_refused(memory: AsyncMemory, value: float):
    with pytest.raises(CommonplaceError) as refused:
        await memory.search("anything", min_relevance=value)

    assert refused.value.code == "invalid_query"


@pytest.mark.anyio
async def test_a_chinese_question_is_told_from_another(memory: AsyncMemory):
    await memory.put("舅舅对花生过敏，别带花生酥")

    [hit] = await memory.search("谁对花生过敏？")
    [other] = await memory.search("今天的汇率是多少？")

    assert hit.relevant
    assert not other.relevant


def test_the_page_about_recall_says_the_floor_and_the_distance_as_they_are() -> None:
    page = " ".join((ROOT / "docs" / "why" / "recall.md").read_text(encoding="utf-8").split())
    shares = {0.01: "a hundredth", 0.02: "a fiftieth", 0.05: "a twentieth", 0.1: "a tenth"}

    assert f"has a relevance below {f'{FLOOR:g}'.lstrip('0')}, no memory answers" in page
    assert f"at least {shares[DISTANCE]} of the best one's relevance" in page
