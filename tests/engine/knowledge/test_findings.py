"""Knowledge goes one way, is reused while it is trusted and fresh, and is never more than data."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import (
    CommonplaceError,
    Conflict,
    InvalidInput,
    InvalidTransition,
    NotFound,
    ReviewRequired,
    SecretRefused,
)
from commonplace.knowledge.findings import (
    CLOSE,
    OPEN,
    Binding,
    KnowledgeBase,
    NewFinding,
    NewSpace,
    StatusChange,
    best,
    changed,
    coverage_key,
    is_fresh,
    knowledge_block,
    read_coverage_key,
)
from commonplace.ports.journal import Entries
from commonplace.testing.clock import FakeClock
from commonplace.testing.knowledge import HeldKnowledge
from commonplace.values.knowledge import Item, ItemStatus, Space
from commonplace.values.moment import id_at
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

BIRTH = datetime(2026, 1, 1, tzinfo=UTC)
NOTHING = Entries()
ORDER: tuple[ItemStatus, ...] = get_args(ItemStatus)
PROMOTED = StatusChange(to="promoted")
APPROVED = StatusChange(to="approved_default", reviewer="bo", approval="a1")
ASKED = Binding(project="shop", namespace="ops", task_family="deploy", subject="Orders migration")


def nothing(_: object) -> Entries:
    return NOTHING


def item(**fields: Any) -> Item:
    told: dict[str, Any] = {
        "id": id_at(1),
        "tenant": DEFAULT_TENANT,
        "space": "s1",
        "coverage_key": "a::b::c::d",
        "dedupe_key": "x",
        "item_type": "finding",
        "title": "A title",
        "created_at": BIRTH,
        "updated_at": BIRTH,
        "last_seen_at": BIRTH,
    }
    return Item(**{**told, **fields})


@pytest.fixture
def held() -> HeldKnowledge:
    return HeldKnowledge()


@pytest.fixture
def knowledge(held: HeldKnowledge, clock: FakeClock) -> KnowledgeBase:
    return KnowledgeBase(held, clock, DEFAULT_TENANT)


async def a_space(knowledge: KnowledgeBase, **fields: Any) -> Space:
    told: dict[str, Any] = {"project": "shop", "namespace": "ops"}
    return await knowledge.create_space(NewSpace(**{**told, **fields}), NOTHING)


async def a_finding(knowledge: KnowledgeBase, space: Space, *changes: StatusChange, **fields: Any) -> Item:
    told: dict[str, Any] = {
        "title": "Migrate first",
        "task_family": "deploy",
        "subject": "orders migration",
        "summary": "Run the migration before the deploy.",
    }
    made = (await knowledge.record(NewFinding(space=space.id, **{**told, **fields}), nothing)).item
    for change in changes:
        made = await knowledge.change(made.id, change, nothing)
    return made


# ---- what it is about


def test_a_coverage_key_is_the_same_for_all_who_mean_the_same() -> None:
    assert coverage_key("Shop", "Ops / Runbooks", "deploy", " Orders  migration! ") == (
        "shop::ops-runbooks::deploy::orders-migration"
    )
    assert coverage_key(None, "", "  ", "?") == "unknown-project::general::general::unspecified"
    assert coverage_key("商店", None, "部署", "ＡＢＣ") == "商店::general::部署::abc"


@given(*(st.none() | st.text(max_size=300) for _ in range(4)))
def test_a_coverage_key_has_four_bounded_parts_and_is_its_own_normal_form(
    project: str | None, namespace: str | None, family: str | None, subject: str | None
) -> None:
    key = coverage_key(project, namespace, family, subject)

    *parts, last = key.split("::")
    assert len(parts) == 3
    assert all(0 < len(part) <= 64 for part in parts)
    assert 0 < len(last) <= 120
    assert read_coverage_key(key) == key


async def test_a_coverage_key_of_another_shape_is_refused(knowledge: KnowledgeBase) -> None:
    space = await a_space(knowledge)

    with pytest.raises(InvalidInput):
        await a_finding(knowledge, space, coverage_key="only::three::parts")


# ---- spaces and items


async def test_a_space_is_made_once_a_scope_project_and_namespace(knowledge: KnowledgeBase) -> None:
    first = await a_space(knowledge, namespace="Ops")

    assert await a_space(knowledge, namespace="ops") == first
    assert await a_space(knowledge, project="till") != first
    assert (await a_space(knowledge, scope="global", project=None)).namespace == "ops"


@pytest.mark.parametrize(("scope", "project"), [("project", None), ("global", "shop")])
async def test_a_space_names_its_project_where_it_has_one(
    knowledge: KnowledgeBase, scope: str, project: str | None
) -> None:
    with pytest.raises(InvalidInput):
        await a_space(knowledge, scope=scope, project=project)


async def test_a_finding_is_born_working_and_told_twice_it_is_one(knowledge: KnowledgeBase) -> None:
    space = await a_space(knowledge)

    made = await a_finding(knowledge, space)

    assert (made.status, made.trust_level) == ("working", "working")
    assert made.coverage_key == "shop::ops::deploy::orders-migration"
    assert await a_finding(knowledge, space) == made
    assert await a_finding(knowledge, space, summary="Something else.") != made


async def test_a_finding_needs_its_space(knowledge: KnowledgeBase) -> None:
    with pytest.raises(NotFound):
        await knowledge.record(NewFinding(space="nowhere", title="x"), nothing)


async def test_secrets_do_not_rest_in_knowledge(knowledge: KnowledgeBase) -> None:
    space = await a_space(knowledge)
    secret = "ghp_" + "a1B2" * 9

    made = await a_finding(knowledge, space, summary=f"Use {secret}.", payload={"with": [secret]})

    assert secret not in repr(made)
    assert made.payload["redactions"] == 2
    with pytest.raises(SecretRefused):
        await a_finding(
            knowledge, space, summary="-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"
        )


async def test_what_is_to_be_kept_with_a_write_reaches_the_store(knowledge: KnowledgeBase, held: HeldKnowledge) -> None:
    told = [Entries(audit=()) for _ in range(3)]

    space = await knowledge.create_space(NewSpace(project="shop"), told[0])
    made = (await knowledge.record(NewFinding(space=space.id, title="x"), lambda _: told[1])).item
    await knowledge.change(made.id, PROMOTED, lambda _: told[2])

    assert len(held.entries) == 3
    assert all(kept is entries for kept, entries in zip(held.entries, told, strict=True))


# ---- the way of an item


async def test_a_finding_is_promoted_then_approved_then_given_up(knowledge: KnowledgeBase, clock: FakeClock) -> None:
    made = await a_finding(knowledge, await a_space(knowledge))
    clock.advance(timedelta(hours=1))

    promoted = await knowledge.change(made.id, PROMOTED, nothing)
    approved = await knowledge.change(made.id, APPROVED, nothing)
    gone = await knowledge.change(made.id, StatusChange(to="deprecated"), nothing)

    assert (promoted.status, promoted.trust_level, promoted.updated_at) == ("promoted", "promoted", clock.now())
    assert (approved.trust_level, approved.reviewer, approved.approval) == ("approved_default", "bo", "a1")
    assert (gone.status, gone.reviewer) == ("deprecated", "bo")


@pytest.mark.parametrize("change", [replace(APPROVED, reviewer=None), replace(APPROVED, approval="")])
async def test_the_approved_default_needs_a_reviewer_and_an_approval(
    knowledge: KnowledgeBase, change: StatusChange
) -> None:
    made = await a_finding(knowledge, await a_space(knowledge), PROMOTED)

    with pytest.raises(ReviewRequired):
        await knowledge.change(made.id, change, nothing)


@given(st.lists(st.sampled_from(ORDER), max_size=12), st.booleans())
def test_knowledge_never_goes_back_never_skips_and_never_returns_from_the_dead(
    wanted: list[ItemStatus], reviewed: bool
) -> None:
    held = item()
    walked: list[ItemStatus] = [held.status]
    for to in wanted:
        change = StatusChange(to=to, reviewer="bo", approval="a1") if reviewed else StatusChange(to=to)
        try:
            held = changed(held, change, BIRTH)
        except (InvalidTransition, ReviewRequired):
            continue
        walked.append(held.status)

    places = [ORDER.index(status) for status in walked]
    assert places == sorted(set(places))
    assert "approved_default" not in walked or (reviewed and "promoted" in walked)
    assert walked.count("deprecated") == 0 or walked[-1] == "deprecated"


async def test_of_two_who_change_an_item_at_once_the_second_is_refused(
    knowledge: KnowledgeBase, held: HeldKnowledge
) -> None:
    made = await a_finding(knowledge, await a_space(knowledge))
    await knowledge.change(made.id, StatusChange(to="deprecated"), nothing)

    with pytest.raises(Conflict):
        await held.change_item(replace(made, status="promoted"), "working", NOTHING)


# ---- freshness


@given(
    expires=st.none() | st.integers(-50, 50), age=st.integers(0, 50), freshness=st.none() | st.integers(0, 50)
)  # fmt: skip
def test_an_items_own_expiry_counts_first_then_its_age_then_nothing(
    expires: int | None, age: int, freshness: int | None
) -> None:
    now = BIRTH + timedelta(seconds=age)
    held = item(freshness_expires_at=None if expires is None else now + timedelta(seconds=expires))

    fresh = is_fresh(held, None if freshness is None else timedelta(seconds=freshness), now)

    if expires is not None:
        assert fresh == (expires > 0)
    elif freshness is not None:
        assert fresh == (age <= freshness)
    else:
        assert fresh


def test_the_first_three_go_by_trust_then_expiry_then_title() -> None:
    soon, late = BIRTH + timedelta(days=1), BIRTH + timedelta(days=9)
    items = [
        item(title="d"),
        item(title="c", trust_level="promoted"),
        item(title="b", trust_level="promoted", freshness_expires_at=soon),
        item(title="a", trust_level="promoted", freshness_expires_at=late),
        item(title="z", trust_level="approved_default"),
    ]

    assert [one.title for one in best(items)] == ["z", "a", "b"]


# ---- preflight


async def decisions(knowledge: KnowledgeBase, *bindings: Binding) -> list[str]:
    return [(await knowledge.preflight(binding)).decision for binding in bindings]


async def test_a_run_is_told_what_is_known(knowledge: KnowledgeBase) -> None:
    space = await a_space(knowledge)
    assert await decisions(knowledge, ASKED) == ["no_prior_knowledge"]
    made = await a_finding(knowledge, space)
    assert await decisions(knowledge, ASKED) == ["no_prior_knowledge"]

    await knowledge.change(made.id, PROMOTED, nothing)
    promoted = await knowledge.preflight(ASKED)
    await knowledge.change(made.id, APPROVED, nothing)
    approved = await knowledge.preflight(ASKED)
    await knowledge.change(made.id, StatusChange(to="deprecated"), nothing)

    assert (promoted.decision, approved.decision) == ("reuse_promoted", "reuse_approved_default")
    assert [one.id for one in approved.items] == [made.id]
    assert approved.spaces == (space.id,)
    assert "Run the migration before the deploy." in approved.context
    assert approved.reuses
    assert await decisions(knowledge, ASKED) == ["no_prior_knowledge"]


async def test_reuse_can_be_switched_off_and_asked_for_on_demand(knowledge: KnowledgeBase) -> None:
    await a_finding(knowledge, await a_space(knowledge), PROMOTED)

    found = await decisions(
        knowledge,
        replace(ASKED, enabled=False),
        replace(ASKED, reuse_mode="disabled"),
        replace(ASKED, reuse_mode="on_demand"),
    )

    assert found == ["disabled", "disabled", "reuse_promoted"]


async def test_what_is_trusted_too_little_is_not_reused(knowledge: KnowledgeBase) -> None:
    await a_finding(knowledge, await a_space(knowledge), PROMOTED)

    found = await decisions(
        knowledge, replace(ASKED, trust_floor="approved_default"), replace(ASKED, trust_floor="working")
    )

    assert found == ["no_prior_knowledge", "reuse_promoted"]


async def test_what_is_out_of_date_has_to_be_found_out_anew(knowledge: KnowledgeBase, clock: FakeClock) -> None:
    made = await a_finding(knowledge, await a_space(knowledge), PROMOTED)
    clock.advance(timedelta(hours=2))

    stale = await knowledge.preflight(replace(ASKED, freshness=timedelta(hours=1)))

    assert stale.decision == "refresh_required"
    assert [one.id for one in stale.items] == [made.id]
    assert (stale.context, stale.reuses) == ("", False)
    assert await decisions(knowledge, ASKED) == ["reuse_promoted"]


async def test_the_fresh_one_of_several_is_reused(knowledge: KnowledgeBase, clock: FakeClock) -> None:
    space = await a_space(knowledge)
    await a_finding(knowledge, space, PROMOTED, APPROVED, title="Old", freshness_expires_at=BIRTH + timedelta(hours=1))
    fresh = await a_finding(knowledge, space, PROMOTED, title="New")
    clock.advance(timedelta(hours=2))

    found = await knowledge.preflight(ASKED)

    assert (found.decision, [one.id for one in found.items]) == ("reuse_promoted", [fresh.id])


async def test_a_project_reads_its_own_spaces_and_the_tenants_and_no_other(knowledge: KnowledgeBase) -> None:
    other = await a_space(knowledge, project="till")
    await a_finding(knowledge, other, PROMOTED, coverage_key="shop::ops::deploy::orders-migration")
    assert await decisions(knowledge, ASKED) == ["no_prior_knowledge"]
    assert await decisions(knowledge, replace(ASKED, read_spaces=(other.id,))) == ["reuse_promoted"]

    shared = await a_space(knowledge, scope="global", project=None)
    await a_finding(knowledge, shared, PROMOTED)

    found = await knowledge.preflight(ASKED)
    assert (found.decision, found.spaces) == ("reuse_promoted", (shared.id,))


async def test_a_space_that_may_not_be_read_is_as_if_it_were_not_there(knowledge: KnowledgeBase) -> None:
    space = await a_space(knowledge)
    await a_finding(knowledge, space, PROMOTED)

    found = await knowledge.preflight(replace(ASKED, read_spaces=(space.id,)), lambda one: one.id != space.id)

    assert (found.decision, found.items, found.spaces) == ("no_prior_knowledge", (), ())


# ---- in a prompt

HOSTILE = st.lists(
    st.sampled_from(
        ["</knowledge_context>", "<knowledge_context>", "\n", "\u2028", "# Do this", "```", "fact ", "＜/knowledge_context>"]
    ),
    min_size=1,
).map("".join)  # fmt: skip


@given(titles=st.lists(HOSTILE, min_size=1, max_size=3), summaries=st.lists(HOSTILE, min_size=3, max_size=3))
def test_what_was_found_out_cannot_break_out_of_its_block(titles: Sequence[str], summaries: Sequence[str]) -> None:
    items = [item(title=title, summary=told) for title, told in zip(titles, summaries, strict=False)]

    first, policy, *lines, last = knowledge_block(items).splitlines()

    assert (first, last) == (OPEN, CLOSE)
    assert not policy.startswith(("-", " "))
    assert all(line.startswith(("- [id ", "  | ")) for line in lines)
    assert not any(re.search("[<＜]/?knowledge_context", line) for line in lines)


def test_nothing_known_is_an_empty_block() -> None:
    assert knowledge_block([]) == ""


async def test_a_text_that_is_too_long_or_no_text_is_refused(knowledge: KnowledgeBase) -> None:
    space = await a_space(knowledge)

    bad: tuple[dict[str, Any], ...] = (
        {"title": " "},
        {"title": "x" * 256},
        {"summary": "x" * 8_001},
        {"item_type": ""},
        {"artifact_refs": tuple(str(n) for n in range(201))},
        {"summary": "a\0b"},
    )
    for fields in bad:
        with pytest.raises(CommonplaceError) as raised:
            await a_finding(knowledge, space, **fields)
        assert raised.value.status == 400


@pytest.mark.parametrize("project", ["sho", "shop-eu", "Shop", "shop "])
async def test_a_project_reads_nothing_of_one_whose_name_is_nearly_its_own(
    knowledge: KnowledgeBase, project: str
) -> None:
    other = await a_space(knowledge, project=project)
    await a_finding(knowledge, other, PROMOTED, coverage_key="shop::ops::deploy::orders-migration")

    assert await decisions(knowledge, ASKED) == ["no_prior_knowledge"]
