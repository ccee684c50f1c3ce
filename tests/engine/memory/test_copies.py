"""One sentence, one place; and hits that contradict one another."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.memory.copies import Groups
from commonplace.memory.recall import Recall
from commonplace.memory.write import Writer
from commonplace.values.note import Note
from commonplace.values.query import Hit, Query
from commonplace.values.record import Provenance, Record, Trust, Turn
from commonplace.values.scope import Scope
from commonplace.values.turn_options import TurnOptions

pytestmark = pytest.mark.anyio

POND = Scope("workspace", "pond")
THEN = datetime(2026, 1, 1, tzinfo=UTC)


async def put(writer: Writer, text: str, **fields: object) -> str:
    note = replace(Note(text=text, scope=POND), **fields)  # pyright: ignore[reportArgumentType]
    return (await writer.put([note]))[0].record.id


async def ask(recall: Recall, text: str, **options: object) -> list[Hit]:
    return await recall.search(replace(Query(text=text, mode="words"), **options))  # pyright: ignore[reportArgumentType]


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.record.id for hit in hits]


# ---- copies


async def test_of_near_copies_one_is_shown_with_the_others_as_evidence(writer: Writer, recall: Recall) -> None:
    text = "The heron stands in the cold shallow water of the pond every morning"
    copies = [await put(writer, text + "!" * n) for n in range(4)]
    other = await put(writer, "A heron was seen far out at sea")

    first, second = await ask(recall, "heron pond water", limit=2)

    assert {first.record.id, *first.evidence} == set(copies)
    assert (second.record.id, second.evidence) == (other, ())
    assert len(await ask(recall, "heron pond water", copies=True)) == 5


async def test_the_list_is_filled_up_from_below(writer: Writer, recall: Recall) -> None:
    for n in range(40):
        await put(writer, f"The heron stands in the cold shallow water of the pond{'.' * n}")
    others = [await put(writer, f"A {bird} keeps the heron company") for bird in ("gull", "coot", "swan", "duck")]

    hits = await ask(recall, "heron water", limit=5)

    assert len(hits) == 5
    assert set(ids(hits[1:])) == set(others)
    assert len(hits[0].evidence) == 39


async def test_a_fact_and_an_episode_are_evidence_of_the_turn_they_were_learned_from_or_it_of_them(
    writer: Writer, recall: Recall
) -> None:
    turns = await writer.add_turns(
        TurnOptions(session="chat", scope=POND),
        [
            Turn(speaker="Ana", text="I feed the heron sardines on the jetty"),
            Turn(speaker="Ben", text="The boats come home late"),
        ],
    )
    turn = turns[0].record.id
    fact = await put(
        writer,
        "Ana feeds the heron sardines",
        kind="fact",
        scope=Scope("user", "ana"),
        session="chat",
        provenance=Provenance(message=turn),
    )
    episode = await put(
        writer,
        "Ana: I feed the heron sardines on the jetty. Ben: The boats come home late",
        kind="episode",
        session="chat",
    )

    [hit] = await ask(recall, "heron sardines")

    assert {hit.record.id, *hit.evidence} == {turn, fact, episode}


async def test_the_same_words_stay_apart_in_two_scopes_two_conversations_and_two_mouths(
    writer: Writer, recall: Recall
) -> None:
    said = "I feed the heron fresh sardines every morning"
    for session, speaker in (("one", "Ana"), ("one", "Ben"), ("two", "Ana")):
        await writer.add_turns(TurnOptions(session=session, scope=POND), [Turn(speaker=speaker, text=said)])
    for person in ("ana", "ben"):
        await put(writer, "Allergic to heron feathers", scope=Scope("user", person))

    assert len(await ask(recall, "heron")) == 5


async def test_copies_that_differ_in_the_one_word_that_counts_stay_apart_and_say_so(
    writer: Writer, recall: Recall
) -> None:
    text = "The keeper of the old pond behind the mill feeds the grey heron with fresh sardines every {}"
    one, other = [await put(writer, text.format(day)) for day in ("Monday", "Thursday")]

    hits = await ask(recall, "when does the keeper feed the heron?")

    assert {hit.record.id: hit.contradicted_by for hit in hits} == {one: (other,), other: (one,)}
    assert all(not hit.evidence for hit in hits)


async def test_of_copies_the_trusted_one_is_shown_in_the_place_of_the_better(writer: Writer, recall: Recall) -> None:
    text = "The heron stands in the cold shallow water of the pond"
    own = await put(writer, text, trust="human_approved")
    web = await put(writer, text, source="web", trust="connector_sourced", importance=100)

    [hit] = await ask(recall, "heron pond")

    assert (hit.record.id, hit.evidence) == (own, (web,))
    assert sum(hit.why.parts.values()) == pytest.approx(hit.score)


words = st.lists(st.sampled_from("heron pond gull boat reed fish mud jetty 7 8 not".split()), min_size=1, max_size=6)
records = st.lists(
    st.tuples(
        words, st.sampled_from(["note", "turn", "fact", "episode"]), st.sampled_from([None, "a", "b"]), st.booleans()
    ),
    max_size=25,
)


@given(records)
def test_every_record_is_shown_or_folded_once_and_the_order_is_kept(
    made: list[tuple[list[str], str, str | None, bool]],
) -> None:
    groups, apart = Groups(), Groups(apart=True)
    for place, (of, kind, session, is_trusted) in enumerate(made):
        trust: Trust = "verified" if is_trusted else "connector_sourced"
        record = Record(
            id=str(place), scope=POND, text=" ".join(of), created_at=THEN, updated_at=THEN, kind=kind, session=session, trust=trust
        )  # fmt: skip
        groups.add(place, record, record.text)
        apart.add(place, record, record.text)

    shown = groups[:]
    everything = [id for group in shown for id in (group.record.id, *group.evidence)]
    assert sorted(everything) == sorted(str(place) for place in range(len(made)))
    assert [group.best for group in shown] == sorted(group.best for group in shown)
    assert all(group.best <= group.place for group in shown)
    assert [group.place for group in apart[:]] == list(range(len(made)))


# ---- contradictions


@pytest.mark.parametrize("person_first", [True, False])
async def test_of_two_that_contradict_and_fit_equally_the_persons_stands_before_the_webs(
    writer: Writer, recall: Recall, person_first: bool
) -> None:
    own, web = {"trust": "human_approved"}, {"trust": "connector_sourced", "source": "web", "importance": 100}
    fields = [own, web] if person_first else [web, own]
    first = await put(writer, "The heron is fed at 9:00", **fields[0])
    second = await put(writer, "The heron is fed at 17:00", **fields[1])

    hits = await ask(recall, "when is the heron fed?")

    assert ids(hits) == ([first, second] if person_first else [second, first])
    assert [hit.contradicted_by for hit in hits] == [(ids(hits)[1],), (ids(hits)[0],)]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert [sum(hit.why.parts.values()) for hit in hits] == pytest.approx([hit.score for hit in hits])
    assert hits[1].why.parts["trust"] < 0


async def test_of_equal_trust_the_better_fit_stands_first(writer: Writer, recall: Recall) -> None:
    await put(writer, "The heron is fed at 9:00")
    better = await put(writer, "The heron is fed at 17:00", importance=100)

    hits = await ask(recall, "when is the heron fed?")

    assert hits[0].record.id == better
    assert all("trust" not in hit.why.parts for hit in hits)


async def test_what_two_people_say_of_themselves_does_not_contradict(writer: Writer, recall: Recall) -> None:
    for speaker, place in (("Ana", "Lisbon"), ("Ben", "Porto")):
        turn = Turn(speaker=speaker, text=f"Nowadays I live in the old town of {place}")
        await writer.add_turns(TurnOptions(session="chat", scope=POND), [turn])

    hits = await ask(recall, "who lives in the old town?")

    assert [hit.contradicted_by for hit in hits] == [(), ()]
