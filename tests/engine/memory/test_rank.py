from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.memory.rank import WORDS, Pool, Ranked, ScoreSpread, Weights, bm25, idf, rank, wanted

DEFAULT = Weights()
SCORES = st.floats(0.0, 50.0)
COSINES = st.one_of(st.floats(-1.0, 1.0), st.just(float("nan")))


def pool_of(words: list[float], **changes: object) -> Pool:
    """One passage a record, with nothing remarkable about it but its words."""
    n = len(words)
    pool = Pool(
        record=np.arange(n),
        passage=np.arange(n),
        words=np.array(words, dtype=np.float64),
        meaning={},
        channels={WORDS: ScoreSpread(mean=0.0, std=1.0, best=10.0)},
        wanted=10.0,
        session=np.full(n, -1),
        before=np.full(n, -1),
        after=np.full(n, -1),
        length=np.full(n, 20.0),
        age=np.full(n, np.nan),
        pinned=np.zeros(n, dtype=np.bool_),
        importance=np.full(n, 50.0),
        copy=np.full(n, -1),
        passages=10_000,
    )
    return replace(pool, **changes)


@st.composite
def pools(draw: st.DrawFn) -> Pool:
    n = draw(st.integers(0, 12))

    def column(items: st.SearchStrategy[float]) -> list[float]:
        return draw(st.lists(items, min_size=n, max_size=n))

    def whole(low: int, high: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array(draw(st.lists(st.integers(low, high), min_size=n, max_size=n)), dtype=np.int64)

    spread = st.builds(
        ScoreSpread, mean=st.floats(-1.0, 5.0), std=st.one_of(st.just(0.0), st.floats(0.01, 5.0)), best=SCORES
    )
    record = whole(0, 5)
    return pool_of(
        column(SCORES),
        record=record,
        meaning={"one": np.array(column(COSINES)), "two": np.array(column(COSINES))},
        channels={name: draw(spread) for name in (WORDS, "one", "two")},
        wanted=draw(SCORES),
        # What is said of a record is the same for all of its passages.
        session=whole(-1, 2)[record] if n > 5 else np.full(n, -1),
        before=whole(-1, n - 1) if n else whole(-1, 0),
        after=whole(-1, n - 1) if n else whole(-1, 0),
        length=np.array(column(st.floats(0.0, 1e6))),
        age=np.array(column(st.one_of(st.floats(-10.0, 1e5), st.just(float("nan"))))),
        pinned=whole(0, 1).astype(np.bool_),
        importance=np.array(column(st.floats(0.0, 100.0))),
        copy=whole(-1, 2),
    )


def shuffled(pool: Pool, order: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Pool:
    """The same pool with its passages in another order."""
    place = np.empty(len(order) + 1, dtype=np.int64)
    place[order] = np.arange(len(order))
    place[-1] = -1
    return replace(
        pool,
        **{
            name: getattr(pool, name)[order]
            for name in ("record", "passage", "words", "session", "length", "age", "pinned", "importance", "copy")
        },
        meaning={name: values[order] for name, values in pool.meaning.items()},
        before=place[pool.before[order]],
        after=place[pool.after[order]],
    )


def same(one: Ranked, other: Ranked) -> None:
    assert one.record.tolist() == other.record.tolist()
    assert one.passage.tolist() == other.passage.tolist()
    assert np.allclose(one.score, other.score)


@given(pools(), st.floats(0.0, 2.0))
def test_a_score_is_the_sum_of_its_parts_and_always_a_number(pool: Pool, copies: float):
    ranked = rank(pool, Weights(copies=copies))

    total = np.sum(list(ranked.parts.values()), axis=0)
    assert np.abs(total - ranked.score).max(initial=0.0) < 1e-6
    assert np.isfinite(ranked.score).all()
    assert (np.diff(ranked.score) <= 0.0).all()


@given(pools())
def test_every_record_of_the_pool_is_ranked_once_by_one_of_its_passages(pool: Pool):
    ranked = rank(pool, DEFAULT)

    assert sorted(ranked.record.tolist()) == sorted(set(pool.record.tolist()))
    assert all(pool.record[passage] == record for passage, record in zip(ranked.passage, ranked.record, strict=True))


@given(st.lists(SCORES, min_size=1, max_size=8), st.randoms())
def test_the_order_of_the_candidates_does_not_matter(words: list[float], random: object):
    n = len(words)
    turns = np.arange(n)
    pool = pool_of(words, session=turns // 3, before=np.where(turns % 3, turns - 1, -1), record=turns // 2)
    order = np.array(sorted(range(n), key=lambda _: random.random()), dtype=np.int64)  # type: ignore[attr-defined]

    same(rank(shuffled(pool, order), DEFAULT), rank(pool, DEFAULT))


def test_an_empty_pool_ranks_nothing():
    assert rank(pool_of([]), DEFAULT).record.tolist() == []


def test_of_two_equal_hits_the_newer_record_comes_first():
    assert rank(pool_of([1.0, 1.0]), DEFAULT).record.tolist() == [1, 0]


def test_a_record_is_as_good_as_its_best_passage():
    ranked = rank(pool_of([1.0, 4.0, 3.0], record=np.array([0, 0, 1])), DEFAULT)

    assert ranked.record.tolist() == [0, 1]
    assert ranked.passage.tolist() == [1, 2]


def test_a_short_turn_borrows_from_its_neighbours_and_a_long_one_hardly():
    short = pool_of([6.0, 0.0], before=np.array([-1, 0]), session=np.zeros(2, dtype=np.int64))
    long = replace(short, length=np.full(2, 6000.0))

    assert rank(short, DEFAULT).parts["neighbours"][1] > 20 * rank(long, DEFAULT).parts["neighbours"][1] > 0.0


def test_a_turn_two_places_away_lends_less():
    pool = pool_of([6.0, 0.0, 0.0], before=np.array([-1, 0, 1]), session=np.zeros(3, dtype=np.int64))

    lent = dict(zip(rank(pool, DEFAULT).record.tolist(), rank(pool, DEFAULT).parts["neighbours"], strict=True))
    assert lent[1] > lent[2] > 0.0


def test_a_session_lends_its_best_hit_and_a_lone_record_is_its_own_session():
    ranked = rank(pool_of([8.0, 1.0, 8.0], session=np.array([0, 0, -1])), DEFAULT)

    by_record = dict(zip(ranked.record.tolist(), ranked.parts["session"].tolist(), strict=True))
    assert by_record == {0: DEFAULT.session * 8.0, 1: DEFAULT.session * 8.0, 2: 0.0}
    assert ranked.score[0] == ranked.score[1]


def test_notes_outside_of_any_session_have_no_part_of_a_session():
    ranked = rank(pool_of([8.0, 1.0]), DEFAULT)

    assert not {"session", "neighbours"} & set(ranked.parts)
    assert ranked.parts["words"].tolist() == [12.0, 1.5]


def test_words_that_match_by_chance_are_trusted_in_a_small_scope():
    words = {WORDS: ScoreSpread(mean=0.0, std=1.0, best=2.0)}
    small, large = (rank(pool_of([2.0], channels=words, passages=size), DEFAULT) for size in (3, 3_000))

    assert small.parts["words"][0] > 2 * large.parts["words"][0] > 0.0


@given(st.floats(0.01, 5.0), st.floats(-1.0, 1.0), st.integers(0, 100_000))
def test_a_spread_is_mixed_with_the_background_by_their_sizes(std: float, mean: float, count: int):
    background = ScoreSpread(mean=0.2, std=0.1, best=0.0)
    mixed = ScoreSpread(mean=mean, std=std, best=1.0).mixed(count, background, 20.0)

    assert min(mean, 0.2) - 1e-9 <= mixed.mean <= max(mean, 0.2) + 1e-9
    assert mixed.best == 1.0
    if count == 0:
        assert (mixed.mean, mixed.std) == pytest.approx((0.2, 0.1))
    if count == 100_000:
        assert mixed.std == pytest.approx(std, abs=0.05)


def test_words_that_cover_little_of_the_query_give_way_to_meaning():
    pool = pool_of(
        [4.0, 0.0],
        meaning={"one": np.array([0.0, 0.5])},
        channels={WORDS: ScoreSpread(mean=0.0, std=1.0, best=4.0), "one": ScoreSpread(mean=0.0, std=0.2, best=0.5)},
    )

    assert rank(replace(pool, wanted=5.0), DEFAULT).record.tolist() == [0, 1]
    assert rank(replace(pool, wanted=40.0), DEFAULT).record.tolist() == [1, 0]


def test_a_passage_without_a_vector_is_neither_near_nor_far():
    pool = pool_of([1.0], meaning={"one": np.array([np.nan])})
    pool = replace(pool, channels={**pool.channels, "one": ScoreSpread(mean=0.3, std=0.1, best=0.9)})

    assert rank(pool, DEFAULT).parts["meaning:one"].tolist() == [0.0]


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("pin", {"pinned": np.array([True, False])}),
        ("importance", {"importance": np.array([90.0, 50.0])}),
        ("recency", {"age": np.array([1.0, 400.0])}),
    ],
)
def test_what_tips_a_balance_never_drowns_a_better_answer(part: str, change: dict[str, object]):
    equal, worse = pool_of([2.0, 2.0], **change), pool_of([2.0, 3.0], **change)

    assert rank(equal, DEFAULT).record.tolist() == [0, 1]
    assert rank(equal, DEFAULT).parts[part][0] > 0.0
    assert rank(worse, DEFAULT).record.tolist() == [1, 0]


def test_a_record_without_a_time_neither_gains_nor_loses_by_age():
    assert rank(pool_of([1.0]), DEFAULT).parts["recency"].tolist() == [0.0]


def test_a_near_copy_of_a_better_hit_steps_back_and_says_so():
    ranked = rank(pool_of([3.0, 2.9, 2.0], copy=np.array([7, 7, -1])), Weights(copies=2.0))

    assert ranked.record.tolist() == [0, 2, 1]
    assert ranked.parts["copies"].tolist() == [0.0, 0.0, -2.0]


def test_an_embedder_counts_what_its_weight_says():
    pool = pool_of([0.0], meaning={"one": np.array([1.0])})
    pool = replace(pool, channels={**pool.channels, "one": ScoreSpread(mean=0.0, std=1.0, best=1.0)})

    assert rank(pool, Weights(embedders={"one": 2.0})).parts["meaning:one"].tolist() == [2.0 * (1 + DEFAULT.session)]


def test_several_embedders_share_what_one_counts_and_a_little_more():
    spread = {name: ScoreSpread(mean=0.0, std=1.0, best=1.0) for name in (WORDS, "one", "two")}
    alone = pool_of([0.0], meaning={"one": np.array([1.0])}, channels=spread)
    both = replace(alone, meaning={"one": np.array([1.0]), "two": np.array([1.0])})

    one, two = (sum(v[0] for k, v in rank(p, DEFAULT).parts.items() if k.startswith("meaning:")) for p in (alone, both))
    assert one < two < 2 * one


def test_a_rare_term_tells_more_than_a_common_one():
    rare, common = idf(1000, np.array([1, 900]))

    assert rare > common > 0.0


def test_repeats_count_less_each_time_and_long_passages_less_than_short_ones():
    once, twice, thrice = bm25(np.array([1.0, 2.0, 3.0]), np.full(3, 100.0), 100.0, DEFAULT)
    short, long = bm25(np.ones(2), np.array([50.0, 500.0]), 100.0, DEFAULT)

    assert twice - once > thrice - twice > 0.0
    assert short > long


def test_a_very_short_passage_is_not_preferred_for_being_short():
    tiny, short = bm25(np.ones(2), np.array([1.0, DEFAULT.shortest]), 100.0, DEFAULT)

    assert tiny == short


def test_what_is_wanted_leaves_pairs_aside_unless_there_is_nothing_else():
    assert wanted(np.array([1.0, 0.5]), np.array([3.0, 8.0])) == 3.0
    assert wanted(np.array([0.5]), np.array([8.0])) == 4.0


def test_what_is_wanted_of_a_chinese_run_is_its_characters_too():
    assert wanted(np.array([1.0, 0.6, 0.6, 0.5]), np.array([5.0, 2.0, 3.0, 8.0])) == pytest.approx(8.0)
    assert wanted(np.array([]), np.array([])) == 0.0
