"""The hash of a seal: any other rows have another."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from commonplace.stores.seals import SealRow, SealWalk, make_seal, problem_of
from commonplace.values.seal import SealState

TEXT = st.text(max_size=6)
CELL = st.one_of(st.none(), TEXT, st.integers(-(2**63), 2**63 - 1))


@st.composite
def audits(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Rows in the order of their numbers, some of them missing."""
    numbers = sorted(draw(st.sets(st.integers(1, 60), min_size=1, max_size=12)))
    cells = st.tuples(TEXT, st.integers(0, 99), *([CELL] * 14))
    return [(number, *draw(cells)) for number in numbers]


def sealed(rows: list[tuple[Any, ...]], cuts: list[int]) -> list[SealRow]:
    """Seals over portions of the rows."""
    seals: list[SealRow] = []
    begin = 0
    for cut in [*sorted({cut % len(rows) for cut in cuts} - {0}), len(rows)]:
        seals.append(make_seal(seals[-1] if seals else None, 1_000 + cut, rows[begin:cut]))
        begin = cut
    return seals


def first_broken(seals: list[SealRow], rows: list[tuple[Any, ...]]) -> int | None:
    walk = SealWalk()
    for seal in seals:
        found = [row for row in sorted(rows, key=lambda row: row[0]) if walk.last < row[0] <= seal.last]
        if not walk.takes(seal, found[: seal.count + 1]):
            break
    return walk.result(SealState(), None).broken


@given(rows=audits(), cuts=st.lists(st.integers(0, 20), max_size=4))
def test_what_was_not_touched_fits(rows: list[tuple[Any, ...]], cuts: list[int]) -> None:
    assert first_broken(sealed(rows, cuts), rows) is None


@given(rows=audits(), cuts=st.lists(st.integers(0, 20), max_size=4), data=st.data())
def test_any_change_removal_or_insertion_of_a_sealed_row_is_noticed(
    rows: list[tuple[Any, ...]], cuts: list[int], data: st.DataObject
) -> None:
    seals = sealed(rows, cuts)
    place = data.draw(st.integers(0, len(rows) - 1))
    kind = data.draw(st.sampled_from(["change", "remove", "insert", "renumber", "swap"]))
    touched = list(rows)
    if kind == "remove":
        del touched[place]
    elif kind == "insert":
        taken = {row[0] for row in rows}
        number = data.draw(st.integers(-5, rows[-1][0]).filter(lambda number: number not in taken))
        touched.append((number, *data.draw(st.sampled_from(rows))[1:]))
    elif kind == "renumber":
        taken = {row[0] for row in rows}
        number = data.draw(st.integers(-5, 200).filter(lambda number: number not in taken))
        touched[place] = (number, *rows[place][1:])
    elif kind == "swap":
        other = data.draw(st.integers(0, len(rows) - 1))
        touched[place], touched[other] = (
            (rows[place][0], *rows[other][1:]),
            (rows[other][0], *rows[place][1:]),
        )
    else:
        column = data.draw(st.integers(1, 16))
        cell = data.draw(st.one_of(CELL, st.binary(max_size=3)) if column != 2 else st.integers(0, 99))
        touched[place] = (*rows[place][:column], cell, *rows[place][column + 1 :])
    same = [(*map(type, row), *row) for row in touched] == [(*map(type, row), *row) for row in rows]

    assert (first_broken(seals, touched) is None) == same


@given(rows=audits().filter(lambda rows: len(rows) > 1), text=TEXT)
def test_a_seal_that_was_made_anew_over_changed_rows_does_not_fit_the_next(
    rows: list[tuple[Any, ...]], text: str
) -> None:
    first, second = sealed(rows, [1])
    forged_rows = [(rows[0][0], f"{rows[0][1]}{text}!", *rows[0][2:]), *rows[1:]]
    forged = make_seal(None, first.at, forged_rows[:1])

    assert first_broken([forged, second], forged_rows) == 2


@given(rows=audits(), cuts=st.lists(st.integers(0, 20), min_size=1, max_size=4), data=st.data())
def test_a_seal_that_is_missing_in_the_middle_or_moved_is_noticed(
    rows: list[tuple[Any, ...]], cuts: list[int], data: st.DataObject
) -> None:
    seals = sealed(rows, cuts)
    if len(seals) < 2:
        return
    gone = data.draw(st.integers(0, len(seals) - 2))

    assert first_broken([*seals[:gone], *seals[gone + 1 :]], rows) == seals[gone + 1].number


def test_rows_that_cannot_be_read_do_not_fit() -> None:
    seal = make_seal(None, 1, [(1, "a", 5, *["x"] * 14)])

    assert problem_of(seal, None, None) is not None
