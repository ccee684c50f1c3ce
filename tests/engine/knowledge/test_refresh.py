"""A finding that is recorded again is fresh again, or gets a successor; whatever happens to it, one item answers for it."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from commonplace.errors import InvalidTransition, NotFound, ReviewRequired
from commonplace.knowledge.findings import Binding, KnowledgeBase, NewFinding, NewSpace, StatusChange
from commonplace.ports.journal import Entries
from commonplace.testing.clock import FakeClock
from commonplace.testing.knowledge import HeldKnowledge
from commonplace.values.knowledge import REFRESHABLE, Item, ItemStatus, Recording, Space, refreshed
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

T = TypeVar("T")
NOTHING: Final = Entries()
DAY: Final = timedelta(days=1)
BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
LAST: Final = datetime.max.replace(tzinfo=UTC)
PROMOTED: Final = StatusChange(to="promoted")
APPROVED: Final = StatusChange(to="approved_default", reviewer="bo", approval="a1")
DEPRECATED: Final = StatusChange(to="deprecated")
RANK: Final[dict[str, int]] = {"working": 0, "promoted": 1, "approved_default": 2}
ORDER: Final[dict[ItemStatus, int]] = {
    "quarantined": -1,
    "working": 0,
    "promoted": 1,
    "approved_default": 2,
    "deprecated": 3,
}
QUESTION: Final = Binding(project="shop", namespace="ops", task_family="deploy", subject="vat")


def nothing(_: object) -> Entries:
    return NOTHING


@pytest.fixture
def held() -> HeldKnowledge:
    return HeldKnowledge()


@pytest.fixture
def knowledge(held: HeldKnowledge, clock: FakeClock) -> KnowledgeBase:
    return KnowledgeBase(held, clock, DEFAULT_TENANT)


@pytest.fixture
async def space(knowledge: KnowledgeBase) -> Space:
    return await knowledge.create_space(NewSpace(project="shop", namespace="ops"), NOTHING)


async def record(knowledge: KnowledgeBase, space: Space, title: str = "VAT is 23 %", **fields: Any) -> Recording:
    finding = NewFinding(space=space.id, title=title, task_family="deploy", subject="vat", **fields)
    return await knowledge.record(finding, nothing)


async def decision(knowledge: KnowledgeBase) -> str:
    return (await knowledge.preflight(QUESTION)).decision


async def test_what_is_out_of_date_is_fresh_again_once_it_is_found_out_again(
    knowledge: KnowledgeBase, space: Space, clock: FakeClock
) -> None:
    first = (await record(knowledge, space, freshness_expires_at=clock.now() + DAY)).item
    await knowledge.change(first.id, PROMOTED, nothing)
    clock.advance(2 * DAY)
    before = await decision(knowledge)

    again = await record(knowledge, space)

    assert (before, await decision(knowledge)) == ("refresh_required", "reuse_promoted")
    assert (again.outcome, again.item.id, again.item.status) == ("refreshed", first.id, "promoted")
    assert again.item.last_seen_at == clock.now()
    assert again.item.freshness_expires_at == clock.now() + DAY


async def test_a_finding_without_an_expiry_is_as_young_as_it_was_last_seen(
    knowledge: KnowledgeBase, space: Space, clock: FakeClock
) -> None:
    first = (await record(knowledge, space)).item
    await knowledge.change(first.id, PROMOTED, nothing)
    clock.advance(2 * DAY)
    daily = replace(QUESTION, freshness=DAY)
    before = (await knowledge.preflight(daily)).decision

    await record(knowledge, space)

    assert (before, (await knowledge.preflight(daily)).decision) == ("refresh_required", "reuse_promoted")


async def test_who_records_again_makes_nothing_expire_sooner(
    knowledge: KnowledgeBase, space: Space, clock: FakeClock
) -> None:
    endless = (await record(knowledge, space, "Endless")).item
    dated = (await record(knowledge, space, "Dated", freshness_expires_at=clock.now() + 9 * DAY)).item
    for item in (endless, dated):
        await knowledge.change(item.id, PROMOTED, nothing)

    first = await record(knowledge, space, "Endless", freshness_expires_at=clock.now() + DAY)
    second = await record(knowledge, space, "Dated", freshness_expires_at=clock.now() + DAY)

    assert first.item.freshness_expires_at is None
    assert second.item.freshness_expires_at == dated.freshness_expires_at


async def test_a_reviewer_confirms_a_finding_for_as_long_as_they_say(
    knowledge: KnowledgeBase, space: Space, clock: FakeClock
) -> None:
    first = (await record(knowledge, space, freshness_expires_at=clock.now() + 9 * DAY)).item
    await knowledge.change(first.id, PROMOTED, nothing)
    clock.advance(DAY)

    shorter = await knowledge.refresh(first.id, clock.now() + DAY, NOTHING)
    clock.advance(DAY)
    again = await knowledge.refresh(first.id, None, NOTHING)

    assert (shorter.status, shorter.freshness_expires_at) == ("promoted", clock.now())
    assert (again.last_seen_at, again.freshness_expires_at) == (clock.now(), clock.now() + DAY)


async def test_a_changed_finding_waits_beside_the_promoted_one_and_takes_its_place_when_trusted_as_much(
    knowledge: KnowledgeBase, space: Space
) -> None:
    first = (await record(knowledge, space, dedupe_key="vat")).item
    for change in (PROMOTED, APPROVED):
        await knowledge.change(first.id, change, nothing)

    second = await record(knowledge, space, "VAT is 24 %", dedupe_key="vat")
    seen = [(await knowledge.preflight(QUESTION)).items[0].id]
    await knowledge.change(second.item.id, PROMOTED, nothing)
    seen.append((await knowledge.preflight(QUESTION)).items[0].id)
    replaced: list[str] = []

    def beside(items: Any) -> Entries:
        replaced.extend(item.id for item in items)
        return NOTHING

    await knowledge.change(second.item.id, APPROVED, beside)

    assert (second.outcome, second.item.status, second.item.supersedes) == ("successor", "working", first.id)
    assert seen == [first.id, first.id]
    assert replaced == [first.id]
    assert [item.id for item in (await knowledge.preflight(QUESTION)).items] == [second.item.id]


async def test_what_was_given_up_can_be_found_out_again(knowledge: KnowledgeBase, space: Space) -> None:
    first = (await record(knowledge, space)).item
    gone = await knowledge.change(first.id, DEPRECATED, nothing)

    again = await record(knowledge, space)

    assert gone.dedupe_key is None
    assert (again.outcome, again.item.status) == ("created", "working")
    assert again.item.id != first.id
    with pytest.raises(InvalidTransition):
        await knowledge.refresh(first.id, None, NOTHING)


async def test_what_is_in_quarantine_is_not_refreshed_and_what_was_let_out_is(
    knowledge: KnowledgeBase, space: Space, clock: FakeClock
) -> None:
    apart = await record(knowledge, space, against=("override",))
    again = await record(knowledge, space, against=("override",))
    with pytest.raises(InvalidTransition):
        await knowledge.refresh(apart.item.id, None, NOTHING)
    await knowledge.release(apart.item.id, "bo", NOTHING)
    clock.advance(DAY)

    after = await record(knowledge, space, against=("override",))

    assert [entry.outcome for entry in (apart, again, after)] == ["quarantined", "quarantined", "refreshed"]
    assert {entry.item.id for entry in (apart, again, after)} == {apart.item.id}
    assert (after.item.status, after.item.last_seen_at) == ("working", clock.now())


moments = st.datetimes(BEGIN.replace(tzinfo=None), LAST.replace(tzinfo=None), timezones=st.just(UTC))


@given(
    status=st.sampled_from(sorted(ORDER)),
    expiry=st.none() | moments,
    expires=st.none() | moments,
    now=moments,
    may_shorten=st.booleans(),
)
def test_a_refresh_keeps_the_status_and_never_fails_on_a_date(
    status: ItemStatus, expiry: datetime | None, expires: datetime | None, now: datetime, may_shorten: bool
) -> None:
    item = Item(
        id="i", tenant=DEFAULT_TENANT, space="s", coverage_key="a::b::c::d", dedupe_key="d", item_type="finding",
        title="t", created_at=BEGIN, updated_at=BEGIN, last_seen_at=BEGIN, status=status, freshness_expires_at=expiry,
    )  # fmt: skip
    try:
        after = refreshed(item, now, expires, may_shorten=may_shorten)
    except InvalidTransition:
        assert status not in REFRESHABLE
        return

    assert (after.status, after.last_seen_at) == (status, now)
    if status != "working" and not may_shorten:
        assert (after.freshness_expires_at or LAST) >= (expiry or LAST)
    elif expires is not None:
        assert after.freshness_expires_at == expires


class Findings(RuleBasedStateMachine):
    """One space, a few findings with keys of their own or by what they say, and everything that can happen to them."""

    items: Bundle[str] = Bundle("items")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.clock = FakeClock(BEGIN)
        self.store = HeldKnowledge()
        self.knowledge = KnowledgeBase(self.store, self.clock, DEFAULT_TENANT)
        self.before: dict[str, Item] = {}

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.loop.run(coroutine)

    def teardown(self) -> None:
        self.loop.close()

    def all(self) -> dict[str, Item]:
        return {item.id: item for item in self.run(self.store.items(DEFAULT_TENANT, limit=1_000))}

    @initialize()
    def begin(self) -> None:
        self.space = self.run(self.knowledge.create_space(NewSpace(project="shop", namespace="ops"), NOTHING))

    @rule(
        target=items,
        key=st.none() | st.sampled_from(["k1", "k2"]),
        title=st.sampled_from(["A", "B", "C"]),
        attack=st.booleans(),
        days=st.none() | st.integers(1, 9),
    )
    def record(self, key: str | None, title: str, attack: bool, days: int | None) -> Any:
        self.clock.advance(timedelta(hours=1))
        before = self.all()
        expires = None if days is None else self.clock.now() + days * DAY
        finding = NewFinding(
            space=self.space.id,
            title=title,
            dedupe_key=key,
            freshness_expires_at=expires,
            against=("override",) if attack else (),
        )
        recording = self.run(self.knowledge.record(finding, nothing))

        item = recording.item
        is_new = item.id not in before
        if recording.outcome != "quarantined":
            assert is_new == (recording.outcome != "refreshed")
        assert item.title == title
        assert (recording.predecessor is not None) == (recording.outcome == "successor")
        if recording.outcome == "refreshed":
            assert item.status == before[item.id].status
            assert item.last_seen_at == self.clock.now()
        return multiple(*[item.id] if is_new else [])  # pyright: ignore[reportUnknownVariableType] -- not typed there

    @rule(id=items, change=st.sampled_from([PROMOTED, APPROVED, DEPRECATED, replace(APPROVED, approval=None)]))
    def change(self, id: str, change: StatusChange) -> None:
        before = self.all()[id]
        try:
            after = self.run(self.knowledge.change(id, change, nothing))
        except (InvalidTransition, ReviewRequired):
            assert self.all()[id] == before
            return
        assert ORDER[after.status] > ORDER[before.status]
        assert after.status == "deprecated" or ORDER[after.status] == ORDER[before.status] + 1

    @rule(id=items, days=st.none() | st.integers(-5, 50))
    def refresh(self, id: str, days: int | None) -> None:
        self.clock.advance(timedelta(hours=1))
        before = self.all()[id]
        expires = None if days is None else self.clock.now() + days * DAY
        try:
            after = self.run(self.knowledge.refresh(id, expires, NOTHING))
        except InvalidTransition:
            assert before.status in ("deprecated", "quarantined")
            return
        assert after.status == before.status
        assert (after.last_seen_at, after.dedupe_key) == (self.clock.now(), before.dedupe_key)

    @rule(id=items)
    def release(self, id: str) -> None:
        if self.all()[id].status == "quarantined":
            assert self.run(self.knowledge.release(id, "bo", NOTHING)).status == "working"

    @invariant()
    def one_item_answers_for_a_key_and_none_that_was_given_up(self) -> None:
        items = self.all().values()
        keys = [item.dedupe_key for item in items if item.dedupe_key is not None]
        assert len(keys) == len(set(keys))
        assert all(item.dedupe_key is None for item in items if item.status == "deprecated")

    @invariant()
    def nothing_is_lost_and_nothing_goes_back(self) -> None:
        items = self.all()
        assert items.keys() >= self.before.keys()
        for id, item in self.before.items():
            assert ORDER[items[id].status] >= ORDER[item.status]
            assert (items[id].title, items[id].created_at) == (item.title, item.created_at)
        self.before = items

    @invariant()
    def what_was_succeeded_by_something_trusted_as_much_is_given_up(self) -> None:
        items = self.all()
        for item in items.values():
            if item.status not in ("promoted", "approved_default"):
                continue
            older = items.get(item.supersedes or "")
            while older is not None:
                assert older.status == "deprecated" or RANK[older.trust_level] > RANK[item.trust_level]
                older = items.get(older.supersedes or "")


class TestFindings(Findings.TestCase):
    settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


async def test_a_finding_that_succeeds_one_that_was_removed_is_promoted_all_the_same(
    knowledge: KnowledgeBase, held: HeldKnowledge, space: Space
) -> None:
    first = (await record(knowledge, space, dedupe_key="vat")).item
    second = (await record(knowledge, space, "VAT is 24 %", dedupe_key="vat")).item
    await held.remove_item(DEFAULT_TENANT, first.id, NOTHING)

    promoted = await knowledge.change(second.id, PROMOTED, nothing)

    assert promoted.status == "promoted"
    with pytest.raises(NotFound):
        await held.item(DEFAULT_TENANT, first.id)
