"""Capabilities that one key issues for another: signed, for one key, with an end, and never wider than the issuer's own reach."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from commonplace import open_memory
from commonplace.errors import Conflict
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import served
from commonplace.testing.governed import Door
from commonplace.values.audit import AuditQuery

pytestmark = pytest.mark.anyio
TALK = [
    "user: I prefer dark mode in every editor, and please always answer in English when we work together.",
    "assistant: Noted. I will keep that in mind for all of your projects from now on.",
    "user: We decided to deploy the payment service on Fridays. The root cause was a missing index on orders.",
]
SHOP = {"project_id": "shop", "tier": "project"}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["sqlite", "postgres"])
async def door(request: pytest.FixtureRequest, home: Path, clock: FakeClock) -> AsyncGenerator[Door]:
    given = {"store": request.getfixturevalue("address")} if request.param == "postgres" else {}
    async with served(home, clock=clock, **given) as running:
        yield Door(running)


async def issued(door: Door, key: str, **fields: Any) -> Any:
    answer = await door("POST", "/v1/capabilities", json={"key": key, "run": "r-1", "project": "shop", **fields})
    assert answer.status_code == 201, answer.text
    assert answer.headers["cache-control"] == "no-store"
    return answer.json()


async def refusal(door: Door, key: str, **fields: Any) -> tuple[int, str]:
    answer = await door("POST", "/v1/capabilities", json={"key": key, "run": "r-1", "project": "shop", **fields})
    return answer.status_code, answer.json()["error"]["code"]


async def rows(door: Door, action: str) -> list[Any]:
    page = await door.running.services.desk.store.journal.audit(
        "default/default", AuditQuery(actions=(action,)), 20, None
    )
    return [(row.actor, row.outcome, dict(row.details)) for row in page.rows]


async def team(door: Door) -> tuple[Door, Door]:
    """Ana, a person, and the key of a bot that reaches nothing of hers."""
    ana = await door.key("writer", name="ana's laptop", user="ana")
    return ana, await door.key("reader", "workspace:elsewhere", name="bot")


async def test_another_key_writes_and_reads_with_it_for_its_issuer(door: Door) -> None:
    ana, bot = await team(door)
    signed = (await issued(ana, "bot", write_tiers=["session", "project"]))["capability"]
    note = {"content": "The lantern is in the attic", "partition": SHOP, "capability": signed}

    assert await bot.refused("POST", "/memory/put", json={"content": "x", "partition": SHOP}) == (403, "forbidden")
    put = await bot.done("POST", "/memory/put", json=note)
    by_bot = await bot.found("lantern", capability=signed)
    by_ana = await ana.found("lantern")

    assert put["stored"]
    assert by_bot == by_ana == ["The lantern is in the attic"]
    assert await bot.found("lantern") == []
    actor, outcome, details = (await rows(door, "record.put"))[0]
    assert (actor, outcome, details["issuer"], details["subject"]) == ("bot", "ok", "ana's laptop", "ana")


async def test_issuing_is_audited_with_what_was_handed_over(door: Door) -> None:
    ana, _ = await team(door)
    answer = await issued(ana, "bot", promote_targets=["project"])

    [(actor, outcome, details)] = await rows(door, "capability.create")
    assert (actor, outcome) == ("ana's laptop", "ok")
    assert (details["capability"], details["holder"]) == (answer["id"], answer["key"])
    assert (details["subject"], details["project"], details["tiers"]) == ("ana", "shop", ["project", "session"])
    assert answer["capability"] not in str(details)


async def test_it_stays_within_the_tiers_the_project_and_the_run_that_it_names(door: Door) -> None:
    ana, bot = await team(door)
    signed = (await issued(ana, "bot", read_tiers=["session"], write_tiers=["session"]))["capability"]
    await ana.put("The lantern is in the attic", partition=SHOP)
    await door.share("The lantern is lit", project="shop")
    put: dict[str, Any] = {"content": "x", "capability": signed}

    assert await bot.found("lantern", capability=signed, read_scopes=["session", "project", "global"]) == []
    assert await bot.refused("POST", "/memory/put", json={**put, "partition": SHOP}) == (403, "tier_not_allowed")
    for place in ({"partition": {"project_id": "web"}}, {"run_id": "r-2"}, {"partition": {"org_id": "acme"}}):
        status, code = await bot.refused("POST", "/memory/put", json={**put, **place})
        assert (status, code) in {(403, "capability_mismatch"), (403, "forbidden")}
    assert await bot.refused("POST", "/memory/put", json={**put, "user_id": "bo"}) == (403, "forbidden")


async def test_it_opens_neither_sessions_of_others_nor_what_the_holder_has_itself(door: Door) -> None:
    ana, bo = await door.key("writer", name="ana", user="ana"), await door.key("writer", name="bo", user="bo")
    await bo("POST", "/v1/records", json={"text": "Bo's lantern", "scope": "user:bo"})
    await bo("POST", "/v1/records", json={"text": "Bo's lantern session", "scope": "session:s-9"})
    await bo.put("Bo's governed lantern", partition=SHOP)
    signed = (await issued(ana, "bo"))["capability"]

    assert await bo.found("lantern", capability=signed) == []
    assert await bo.found("lantern", capability=signed, session_id="s-9") == []
    assert len(await bo.found("lantern")) == 3


async def test_a_forged_one_is_refused(door: Door) -> None:
    ana, bot = await team(door)
    signed: str = (await issued(ana, "bot"))["capability"]
    payload, _, signature = signed.rpartition(".")
    changed = [
        signed[:-1] + ("A" if signed[-1] != "A" else "B"),
        f"{payload[:-2]}AA.{signature}",
        "cap_",
        "cap_x.y",
        f"{signed}=",
    ]

    for text in changed:
        refused = await bot.refused("POST", "/memory/search", json={"query": "x", "capability": text})
        assert refused == (401, "capability_forged")
    assert ("bot", "denied") in {(actor, outcome) for actor, outcome, _ in await rows(door, "capability.present")}


async def test_an_expired_one_is_refused(door: Door, clock: FakeClock) -> None:
    ana, bot = await team(door)
    signed = (await issued(ana, "bot"))["capability"]
    body = {"query": "x", "capability": signed}
    clock.advance(timedelta(minutes=59))
    assert (await bot("POST", "/memory/search", json=body)).status_code == 200

    clock.advance(timedelta(minutes=1))

    assert await bot.refused("POST", "/memory/search", json=body) == (401, "capability_expired")


async def test_one_for_another_key_or_of_another_tenant_is_refused(door: Door) -> None:
    ana, _ = await team(door)
    other, abroad = await door.key("admin", name="other"), await door.key("writer", name="bot", tenant="acme/web")
    body = {"query": "x", "capability": (await issued(ana, "bot"))["capability"]}

    for caller in (ana, other, door):
        assert await caller.refused("POST", "/memory/search", json=body) == (403, "capability_for_other_key")
    assert await abroad.refused("POST", "/memory/search", json=body) == (403, "capability_for_other_tenant")


async def test_it_is_void_once_its_issuers_key_is_revoked_or_over(door: Door, clock: FakeClock) -> None:
    ana, bot = await team(door)
    key = (await ana("GET", "/v1/me")).json()["key"]
    body = {"query": "x", "capability": (await issued(ana, "bot"))["capability"]}

    await door("DELETE", f"/v1/keys/{key}")

    assert await bot.refused("POST", "/memory/search", json=body) == (401, "capability_void")


async def test_it_ends_with_its_issuers_key_at_the_latest(door: Door, clock: FakeClock) -> None:
    await team(door)
    soon, later = clock.now() + timedelta(minutes=10), clock.now() + timedelta(minutes=30)
    answer = await door("POST", "/v1/keys", json={"name": "brief", "expires_at": soon.isoformat()})
    brief = Door(door.running, {"Authorization": f"Bearer {answer.json()['secret']}"})

    assert (await issued(brief, "bot"))["expires_at"] == answer.json()["key"]["expires_at"]
    assert await refusal(brief, "bot", expires_at=later.isoformat()) == (403, "capability_too_wide")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"read_tiers": ["global"]}, (403, "capability_too_wide")),
        ({"project": "payroll"}, (403, "capability_too_wide")),
        ({"subject": "bo"}, (403, "capability_too_wide")),
        ({"write_tiers": ["session"]}, (403, "capability_too_wide")),
        ({"read_tiers": ["team"]}, (403, "tier_not_storage_backed")),
        ({"promote_targets": ["session"]}, (400, "invalid_input")),
        ({"expires_at": "2020-01-01T00:00:00Z"}, (400, "invalid_input")),
        ({"expires_at": "2999-01-01T00:00:00Z"}, (400, "invalid_input")),
        ({"project": "shop*"}, (400, "invalid_input")),
        ({"run": ""}, (400, "invalid_input")),
        ({"key": "nobody"}, (404, "not_found")),
        ({"key": "twice"}, (409, "conflict")),
    ],
)
async def test_what_cannot_be_issued_is_refused(door: Door, fields: dict[str, Any], expected: tuple[int, str]) -> None:
    await team(door)
    for _ in range(2):
        await door.key("reader", name="twice")
    narrow = await door.key("writer", "workspace:shop", name="narrow")

    assert await refusal(narrow, **{"key": "bot", **fields}) == expected
    assert (await issued(narrow, "bot"))["write_tiers"] == []


async def test_nobody_reviews_by_a_capability(door: Door) -> None:
    rita = await door.key("reviewer", name="rita", user="rita")
    bot = await door.key("reviewer", name="bot")
    signed = (await issued(rita, "bot", promote_targets=["project"]))["capability"]
    put = await bot.done("POST", "/memory/put", json={"content": "Lanterns burn oil", "capability": signed})
    promotion = {"id": put["id"], "capability": signed}

    assert await bot.refused("POST", "/memory/promote", json=promotion) == (403, "review_required")
    for reviewer in (rita, bot):
        own = await reviewer("POST", "/v1/approvals", json={"id": put["id"], "version": 1})
        assert own.json()["error"]["code"] == "own_review"
    bo = await door.key("reviewer", name="bo")
    assert (await bo("POST", "/v1/approvals", json={"id": put["id"], "version": 1})).status_code == 201
    assert (await bot.done("POST", "/memory/promote", json=promotion))["promoted"]


async def test_a_conversation_is_distilled_under_one(door: Door) -> None:
    ana, bot = await team(door)
    signed = (await issued(ana, "bot"))["capability"]
    body = {"session_id": "s-1", "conversation": TALK, "capability": signed}

    report = await bot.done("POST", "/memory/context/distill", json=body)

    assert report["stored_count"] > 0
    texts = [row["user_id"] for row in (await ana.done("GET", "/memory"))["items"]]
    assert set(texts) == {"ana"}


async def test_the_operators_reaches_all_and_a_text_of_json_is_not_taken_for_a_signed_one(door: Door) -> None:
    _, bot = await team(door)
    signed = (await issued(door, "bot", subject="bo", read_tiers=["global"], write_tiers=["session"]))["capability"]

    put = await bot.done("POST", "/memory/put", json={"content": "For Bo", "capability": signed})
    unsigned = await bot("POST", "/memory/search", json={"query": "x", "capability": "eyJydW4iOiJyIn0.sig"})

    [row] = (await door("GET", "/v1/records", params={"scope": "user:bo"})).json()["records"]
    assert (row["id"], unsigned.status_code) == (put["id"], 400)


async def test_what_an_agent_writes_under_one_is_no_persons_word(door: Door) -> None:
    ana, _ = await team(door)
    made = await door("POST", "/v1/keys", json={"name": "model", "role": "writer", "agent": True})
    model = Door(door.running, {"Authorization": f"Bearer {made.json()['secret']}"})
    signed = (await issued(ana, "model"))["capability"]

    await model.done("POST", "/memory/put", json={"content": "Lanterns burn oil", "capability": signed})

    [row] = (await ana.done("GET", "/memory"))["items"]
    assert row["memory_trust"]["label"] == "model_generated"


async def test_every_daemon_with_the_operators_token_knows_it(tmp_path: Path, address: str, clock: FakeClock) -> None:
    async with (
        served(tmp_path / "a", clock=clock, store=address) as first,
        served(tmp_path / "b", clock=clock, store=address) as second,
    ):
        ana, bot = await team(Door(first))
        signed = (await issued(ana, "bot"))["capability"]
        await ana.put("The lantern is in the attic", partition=SHOP)

        assert await Door(second, bot.headers).found("lantern", capability=signed) == ["The lantern is in the attic"]


def test_without_a_daemon_nothing_is_signed(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.db", embedder="none") as memory:
        memory.create_key("bot")

        with pytest.raises(Conflict, match="commonplace serve"):
            memory.create_capability("bot", "r-1")
