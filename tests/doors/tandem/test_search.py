"""Search at the governed door: by words, within tiers, under budgets."""

from datetime import timedelta
from typing import Any

import pytest

from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Drafting
from commonplace.testing.governed import Door, capability
from commonplace.values.principal import Role

pytestmark = pytest.mark.anyio


def at(tier: str, project: str = "shop") -> dict[str, str]:
    return {"project_id": project, "tier": tier}


async def test_what_was_put_into_a_session_is_found_by_a_search_that_names_none(either: Door) -> None:
    await either.put("The team uses Rust for backend services.", session_id="s1", tags=["team"])

    found = await either.search("rust backend")

    [row] = found["results"]
    assert row["content"] == row["text"] == "The team uses Rust for backend services."
    assert (row["tier"], row["kind"], row["classification"], row["session_id"]) == ("session", "note", "internal", "s1")
    assert (row["visibility"], row["tags"]) == ("private", ["team"])
    assert found["count"] == 1
    assert found["scopes_used"] == ["session", "project", "global"]
    assert found["blocked_scopes"] == []


async def test_no_field_of_a_row_is_null(door: Door) -> None:
    await door.put("We ship on Fridays")

    [row] = (await door.search("Fridays"))["results"]

    def values(told: Any) -> list[Any]:
        if isinstance(told, dict):
            return [one for value in told.values() for one in values(value)]  # pyright: ignore[reportUnknownVariableType]
        return [told]

    assert None not in values(row)


async def test_scores_follow_bm25_and_lie_between_0_and_1(either: Door) -> None:
    texts = ["deploy deploy rollback", "deploy on Fridays", "lunch is at noon", "the rollback of a deploy that failed"]
    for text in texts:
        await either.put(text)

    rows = (await either.search("deploy rollback"))["results"]

    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 < score < 1.0 for score in scores)
    assert len(set(scores)) > 1
    assert rows[-1]["content"] == "deploy on Fridays"


async def test_pins_and_age_do_not_change_the_order(door: Door, clock: FakeClock) -> None:
    first = await door.put("deploy rollback")
    clock.advance(timedelta(days=400))
    await door.put("deploy on Fridays after the standup meeting of the platform team")
    records = door.running.services.desk
    [old] = await records.store.records.get("default/default", [first["id"]])

    rows = (await door.search("deploy rollback"))["results"]

    assert rows[0]["id"] == old.id


async def test_a_part_of_a_word_is_found_after_every_word_with_a_fixed_score(either: Door, clock: FakeClock) -> None:
    await either.put("the frontend is new")
    clock.advance(timedelta(seconds=1))
    await either.put("the backend is new")
    clock.advance(timedelta(seconds=1))
    await either.put("end of the line")

    rows = (await either.search("end"))["results"]

    assert [row["content"] for row in rows] == ["end of the line", "the backend is new", "the frontend is new"]
    assert [row["score"] for row in rows[1:]] == [0.25, 0.25]


@pytest.mark.parametrize("text", ["dump everything", "show all", "export all", "all memory please", "列出所有记忆"])
async def test_a_question_for_the_whole_memory_is_refused_under_a_grant_or_in_a_channel(door: Door, text: str) -> None:
    await door.put("We ship on Fridays")
    channel = await door.key("reader", name="channel:telegram:ana")
    body = {"query": text}

    assert await channel.refused("POST", "/memory/search", json=body) == (403, "query_too_broad")
    held = {**body, "retrieval_grant": grant()}
    assert await door.refused("POST", "/memory/search", json=held) == (403, "query_too_broad")
    assert (await door.search(text))["results"] == []
    rows = [row["status"] for row in await door.audit() if row["action"] == "memory_search"]
    assert sorted(rows) == ["blocked", "blocked", "ok"]


@pytest.mark.parametrize("text", ["how do I fix the core dump", "is everything ready", "一切都准备好了吗"])
async def test_an_ordinary_question_is_answered_in_a_channel(door: Door, text: str) -> None:
    channel = await door.key("reader", name="channel:telegram:ana")
    await door.share(text)

    assert await channel.found(text) == [text]


async def test_a_search_leaves_a_row_without_its_words(door: Door) -> None:
    await door.put("We ship on Fridays")

    found = await door.search("Fridays", run_id="r1")

    [row] = await door.audit(run_id="r1")
    assert (row["audit_id"], row["action"], row["status"]) == (found["audit_id"], "memory_search", "ok")
    assert "Fridays" not in str(row)


async def test_read_scopes_say_which_tiers_are_searched(door: Door) -> None:
    await door.put("plan for the session", run_id="r1", partition=at("session"))
    await door.put("plan for the shop", partition=at("project"))
    await door.put("plan for the bank", partition=at("project", "bank"))
    await door.put("plan for all", partition=at("global"))
    asked = {"run_id": "r1", "partition": {"project_id": "shop"}}

    assert await door.found("plan", read_scopes=["session"], **asked) == ["plan for the session"]
    assert set(await door.found("plan", read_scopes=["project", "global"], **asked)) == {
        "plan for the shop",
        "plan for all",
    }
    found = await door.search("plan", read_scopes=["project", "team"], **asked)
    assert (found["scopes_used"], found["blocked_scopes"]) == (["project"], ["team"])


async def test_a_search_in_a_partition_stays_in_its_project(door: Door) -> None:
    await door.put("plan for the shop", partition=at("project"))
    await door.put("plan for the bank", partition=at("project", "bank"))

    assert await door.found("plan", partition=at("project")) == ["plan for the shop"]


async def test_a_capability_takes_tiers_away(door: Door) -> None:
    writer = await door.key("writer")
    await writer.put("plan for the session", run_id="r1", partition=at("session"))
    await writer.put("plan for the shop", partition=at("project"))
    held = capability(memory={"read_tiers": ["session"]})

    found = await writer.search("plan", read_scopes=["session", "project"], capability=held)

    assert [row["content"] for row in found["results"]] == ["plan for the session"]
    assert (found["scopes_used"], found["blocked_scopes"]) == (["session"], ["project"])
    assert await writer.found("plan", capability=held) == ["plan for the session"]


async def test_a_key_finds_nothing_outside_of_its_scopes(either: Door) -> None:
    await either.share("plan for the shop", project="shop")
    await either.share("plan for the bank", project="bank")
    await either.put("plan of mine", private=True)
    narrow = await either.key("reader", "workspace:shop")

    found = await narrow.search("plan")

    assert [row["content"] for row in found["results"]] == ["plan for the shop"]
    assert found["scopes_used"] == ["project"]
    assert (await narrow.search("plan", read_scopes=["global", "project"]))["blocked_scopes"] == ["global", "project"]


TIERS = ["session", "project", "team", "curated", "global"]


@pytest.mark.parametrize("role", ["reader", "writer", "reviewer", "admin"])
@pytest.mark.parametrize("tier", ["session", "project", "global"])
async def test_what_is_put_is_found_by_its_subject_alone_until_it_is_shared(door: Door, tier: str, role: Role) -> None:
    ana, other = await door.key("writer", name="ana"), await door.key(role, name="bo")
    where = {"run_id": "r1", "session_id": "s1", "partition": at(tier)}
    await ana.put("my own plan", **where)

    for fields in ({}, where, {"read_scopes": TIERS, **where}, {"session_id": "s1"}, {"project_id": "shop"}):
        assert await ana.found("plan", **fields) == ["my own plan"], fields
        assert await other.found("plan", **fields) == [], fields
        assert await other.found("pla", **fields) == [], fields


async def test_a_project_and_a_person_narrow_every_tier(either: Door) -> None:
    for tier in ("session", "project", "global"):
        await either.put(f"plan of the shop for the {tier}", partition=at(tier))
        await either.put(f"plan of the bank for the {tier}", partition=at(tier, "bank"))

    found = await either.found("plan", read_scopes=TIERS, project_tag="bank")

    assert set(found) == {f"plan of the bank for the {tier}" for tier in ("session", "project", "global")}
    assert await either.found("plan", project_id="bank", user_id="nobody") == []
    assert len(await either.found("plan", project_id="bank", user_id="operator")) == 3


async def test_an_admin_finds_what_is_somebody_elses_by_their_name(either: Door) -> None:
    ana, bo, admin = await either.key("writer", name="ana"), await either.key("writer"), await either.key("admin")
    await ana.put("my own plan")
    [own] = (await ana.search("plan"))["results"]

    assert await admin.found("plan") == []
    assert await admin.found("plan", user_id=own["user_id"]) == ["my own plan"]
    assert await bo.found("plan", user_id=own["user_id"]) == []


async def test_tags_of_a_channel_and_of_a_host_narrow(either: Door) -> None:
    await either.put("plan of the room", channel_tag="room")
    await either.put("plan of the server", host_tag="web-1")

    assert await either.found("plan", channel_tag="room") == ["plan of the room"]
    assert await either.found("plan", host_tag="web-1") == ["plan of the server"]
    assert await either.found("plan", channel_tag="room", host_tag="web-1") == []


@pytest.mark.parametrize(
    "body",
    [
        {"userId_": "ana"},
        {"filter": {"tag": "a"}},
        {"partition": {"projectId": "shop", "team_id": "t"}},
        {"retrieval_grant": {"grant_id": "g1", "subject": "operator", "source_kinds": ["wiki"]}},
    ],
)
async def test_a_field_that_might_have_narrowed_is_refused_by_its_name(door: Door, body: dict[str, Any]) -> None:
    response = await door("POST", "/memory/search", json={"query": "plan", **body})

    [name] = body
    unknown = "team_id" if name == "partition" else "source_kinds" if name == "retrieval_grant" else name
    assert response.status_code == 400
    assert unknown in response.text
    assert (await door.done("POST", "/memory/search", json={"query": "plan", "sessionId": "s1", "projectTag": "p"}))[
        "count"
    ] == 0


async def test_a_list_refuses_conditions_that_it_does_not_know(door: Door) -> None:
    response = await door("GET", "/memory", params={"q": "plan", "tag": "a"})

    assert response.status_code == 400
    assert "tag" in response.text


async def test_what_counts_is_found_behind_a_hundred_that_do_not(door: Door) -> None:
    for number in range(101):
        await door.put(f"plan {number}", partition=at("project", "bank"))
    await door.put("a plan that is longer and so comes last of all of these", partition=at("project"))

    assert len(await door.found("plan", project_id="shop")) == 1


async def test_the_tiers_used_are_those_that_were_read(door: Door) -> None:
    writer = await door.key("writer")
    project, own = await door.key("reader", "workspace:shop"), await door.key("writer", "user:ana")

    assert (await writer.search("plan"))["scopes_used"] == ["session", "project", "global"]
    assert (await project.search("plan"))["scopes_used"] == ["project"]
    assert (await own.search("plan"))["scopes_used"] == ["session", "project", "global"]
    assert (await writer.search("plan", session_id="s1"))["scopes_used"] == ["session", "project", "global"]
    assert (await project.search("plan", session_id="s1"))["scopes_used"] == ["project"]


async def test_another_tenant_finds_nothing(door: Door) -> None:
    await door.put("We ship on Fridays")
    stranger = await door.key("admin", tenant="umbrella/lab")

    assert await stranger.found("Fridays") == []
    partition = {"org_id": "default", "workspace_id": "default"}
    refused = await stranger.refused("POST", "/memory/search", json={"query": "Fridays", "partition": partition})
    assert refused == (403, "forbidden")


async def test_a_session_and_tags_narrow(door: Door) -> None:
    await door.put("plan one", session_id="s1", tags=["a", "b"])
    await door.put("plan two", session_id="s2", tags=["a"])
    moved = await door.put("plan three", session_id="s1")
    await door.promote(moved["id"])

    assert set(await door.found("plan", session_id="s1")) == {"plan one", "plan three"}
    assert await door.found("plan", sessionId="s2") == ["plan two"]
    assert await door.found("plan", tags=["a", "b"]) == ["plan one"]


async def test_demoted_and_deleted_records_are_never_found(door: Door) -> None:
    demoted, deleted = await door.put("plan one"), await door.put("plan two")
    await door.done("POST", "/memory/demote", json={"id": demoted["id"]})
    await door.done("DELETE", f"/memory/{deleted['id']}")

    assert await door.found("plan") == []
    assert await door.found("pla") == []


@pytest.mark.parametrize("limit", [0, 101, -1])
async def test_a_limit_is_1_to_100(door: Door, limit: int) -> None:
    status, _ = await door.refused("POST", "/memory/search", json={"query": "plan", "limit": limit})

    assert status == 400


async def test_eight_are_shown_unless_more_are_asked_for(door: Door) -> None:
    for number in range(12):
        await door.put(f"plan number {number}")

    assert len(await door.found("plan")) == 8
    assert len(await door.found("plan", limit=100)) == 12


@pytest.mark.parametrize("query", ["", "  ", "x" * 10_001])
async def test_what_is_no_question_is_refused(door: Door, query: str) -> None:
    assert await door.refused("POST", "/memory/search", json={"query": query}) == (400, "invalid_query")


# ---- budgets


async def test_whoever_speaks_in_a_channel_recalls_under_a_budget(either: Door, clock: FakeClock) -> None:
    for number in range(8):
        await either.share(f"plan {number}: " + "ship it " * 20, project="shop")
    channel = await either.key("reader", name="channel:telegram:ana")

    told = 0
    for _ in range(10):
        response = await channel("POST", "/memory/search", json={"query": "plan ship"})
        if response.status_code == 429:
            break
        rows = response.json()["results"]
        assert len(rows) <= 5
        assert sum(len(row["content"]) for row in rows) <= 1_000
        told += sum(len(row["content"]) for row in rows)
    refused = await channel.refused("POST", "/memory/search", json={"query": "plan"})

    assert 0 < told <= 4_000
    assert refused == (429, "budget_exhausted")
    assert (await either.audit())[0]["status"] == "budget_exhausted"
    clock.advance(timedelta(minutes=6))
    assert await channel.found("plan ship")


async def test_a_channel_asks_ten_times_in_five_minutes_whatever_it_finds(door: Door) -> None:
    channel = await door.key("reader", name="channel:telegram:ana")
    for _ in range(10):
        assert await channel.found("nothing like it") == []

    response = await channel("POST", "/memory/search", json={"query": "nothing like it"})

    assert (response.status_code, response.json()["code"]) == (429, "budget_exhausted")
    assert int(response.headers["Retry-After"]) > 0


def grant(**fields: Any) -> dict[str, Any]:
    return {"grant_id": "g1", "subject": "operator", **fields}


async def test_a_grant_bounds_the_results_of_a_window(door: Door, clock: FakeClock) -> None:
    for number in range(4):
        await door.put(f"plan {number}")
    held = grant(budgets={"max_results_per_window": 3, "window_ms": 1_000})

    first = await door.search("plan", retrieval_grant=held)
    refused = await door.refused("POST", "/memory/search", json={"query": "plan", "retrieval_grant": held})
    clock.advance(timedelta(seconds=2))
    later = await door.search("plan", retrieval_grant=held)

    assert (first["count"], first["left_out"], later["count"]) == (3, 1, 3)
    assert refused == (429, "budget_exhausted")


@pytest.mark.parametrize(
    "fields",
    [
        {"subject": "somebody else"},
        {"revoked": True},
        {"expires_at": 1},
        {"project_ids": ["bank"]},
        {"org_id": "umbrella"},
    ],
)
async def test_a_grant_that_is_not_good_here_is_refused(door: Door, fields: dict[str, Any]) -> None:
    body = {"query": "plan", "retrieval_grant": grant(**fields)}

    assert await door.refused("POST", "/memory/search", json=body) == (403, "forbidden")


async def test_a_grant_for_some_data_shows_no_other(door: Door) -> None:
    await door.put("plan for us", classification="internal")
    await door.put("plan for the board", classification="restricted")
    await door.put("plan from the wiki", metadata={"source_binding_id": "wiki", "source_object_id": ["x"]})

    assert "plan for the board" not in await door.found("plan", retrieval_grant=grant(data_classes=["internal"]))
    assert await door.found("plan", retrieval_grant=grant(source_binding_ids=["wiki"])) == ["plan from the wiki"]
    assert await door.found("plan", retrieval_grant=grant(source_object_ids=["x"])) == []


async def test_a_result_of_a_session_is_of_a_tier_that_was_used(door: Door, clock: FakeClock) -> None:
    draft = Drafting(clock)("a plan", scope="workspace:web", session="s1", embedder=None)
    await door.running.services.desk.store.records.put([draft])
    key = await door.key("reader", "workspace:web")

    found = await key.search("plan", session_id="s1")

    assert [row["tier"] for row in found["results"]] == ["project"]
    assert found["scopes_used"] == ["project"]


async def test_copies_are_rows_of_their_own_and_a_row_names_what_says_otherwise(door: Door) -> None:
    for text in ("We ship the shop on Fridays", "We ship the shop on Fridays.", "We ship the shop on Mondays"):
        await door.put(text)

    rows = (await door.search("ship the shop"))["results"]

    assert len(rows) == 3
    [monday] = [row["id"] for row in rows if "Mondays" in row["content"]]
    assert [row["contradicted_by"] for row in rows if row["id"] != monday] == [[monday], [monday]]
