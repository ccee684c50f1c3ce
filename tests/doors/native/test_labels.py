"""Nobody labels their own words as reviewed: by a put, an edit, a successor, turns or a keyed memory."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from commonplace.testing.callers import caller
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import served
from commonplace.testing.governed import Door
from commonplace.values.audit import AuditQuery
from commonplace.values.scope import Scope

pytestmark = pytest.mark.anyio
LABELS = ["verified", "human_approved"]
FACT = "We ship on Fridays"


@pytest.fixture(params=["sqlite", "postgres"])
async def door(request: pytest.FixtureRequest, home: Path) -> AsyncGenerator[Door]:
    """All doors, entered by the operator."""
    given = {"store": request.getfixturevalue("address")} if request.param == "postgres" else {}
    async with served(home, clock=FakeClock(), **given) as running:
        yield Door(running)


async def record(door: Door, text: str = FACT, **fields: Any) -> Any:
    response = await door("POST", "/v1/records", json={"text": text, "scope": "workspace:shop", **fields})
    assert response.status_code == 201, response.text
    return response.json()["record"]


async def edit(door: Door, id: str, **changes: Any) -> Any:
    return (await door("PATCH", f"/v1/records/{id}", json=changes)).json()


async def successor(door: Door, id: str, **body: Any) -> Any:
    response = await door("POST", f"/v1/records/{id}/supersede", json=body)
    assert response.status_code == 201, response.text
    return response.json()


async def refusal(door: Door, method: str, path: str, **sent: Any) -> tuple[int, str]:
    response = await door(method, path, **sent)
    return response.status_code, response.json()["error"]["code"]


async def reviewed(door: Door, writer: Door) -> str:
    """The id of a record by the writer that somebody else has labelled."""
    rita = await door.key("reviewer", name="rita")
    id = (await record(writer))["id"]
    assert (await edit(rita, id, trust="human_approved"))["trust"] == "human_approved"
    return id


async def self_approvals(door: Door, action: str) -> list[bool]:
    page = await door.running.services.desk.store.journal.audit(
        "default/default", AuditQuery(actions=(action,)), 20, None
    )
    return [row.details.get("self_approved") is True for row in page.rows]


@pytest.mark.parametrize("label", LABELS)
async def test_a_reviewer_writes_nothing_that_is_reviewed_from_the_start(door: Door, label: str) -> None:
    rita = await door.key("reviewer", name="rita")
    id = (await record(rita))["id"]
    body = {"text": FACT, "scope": "workspace:shop", "trust": label}
    turns = {"session": "s", "scope": "workspace:shop", "trust": label, "turns": [{"speaker": "rita", "text": FACT}]}

    refused = [
        await refusal(rita, "POST", "/v1/records", json=body),
        await refusal(rita, "POST", "/v1/records/bulk", json={"records": [{"text": "plain"}, body]}),
        await refusal(rita, "POST", "/v1/turns", json=turns),
        await refusal(rita, "PATCH", f"/v1/records/{id}", json={"trust": label}),
        await refusal(rita, "PATCH", f"/v1/records/{id}", json={"trust": label, "text": "Another"}),
        await refusal(rita, "POST", f"/v1/records/{id}/supersede", json={"text": "Another", "trust": label}),
    ]

    assert set(refused) == {(403, "own_review")}
    assert [(row["id"], row["trust"]) for row in (await door.done("GET", "/v1/records"))["records"]] == [
        (id, "system_generated")
    ]


@pytest.mark.parametrize("label", LABELS)
async def test_a_reviewer_labels_what_others_wrote_and_may_change_their_mind(door: Door, label: str) -> None:
    ana, rita = await door.key("writer", name="ana"), await door.key("reviewer", name="rita")
    id = (await record(ana))["id"]

    first = await edit(rita, id, trust=label)
    second = await edit(rita, id, trust="verified")

    assert (first["trust"], second["trust"]) == (label, "verified")
    assert await refusal(rita, "PATCH", f"/v1/records/{id}", json={"trust": label, "text": "Mine"}) == (
        403,
        "own_review",
    )
    assert True not in await self_approvals(door, "record.edit")


async def test_what_a_reviewer_had_a_part_in_is_labelled_by_somebody_else(door: Door) -> None:
    ana, rita = await door.key("writer", name="ana"), await door.key("reviewer", name="rita")
    id = (await record(ana))["id"]
    await edit(rita, id, tags=["friday"])

    assert await refusal(rita, "PATCH", f"/v1/records/{id}", json={"trust": "verified"}) == (403, "own_review")


async def test_an_admins_own_becomes_verified_and_the_audit_says_so(door: Door) -> None:
    admin = await door.key("admin", name="ada")

    put = await record(admin, trust="human_approved")
    plain = await record(admin, "We meet on Mondays")
    edited = await edit(admin, plain["id"], trust="human_approved")
    heir = await successor(admin, put["id"], text="A", trust="human_approved")

    assert {put["trust"], edited["trust"], heir["trust"]} == {"verified"}
    assert await self_approvals(door, "record.put") == [False, True]
    assert await self_approvals(door, "record.edit") == [True]


async def test_a_new_text_loses_the_label_of_whoever_reviewed_the_old_one(door: Door) -> None:
    ana, admin = await door.key("writer", name="ana"), await door.key("admin", name="ada")
    by_writer, by_admin, replaced = [await reviewed(door, ana) for _ in range(3)]

    heir = await successor(ana, replaced, text="We ship on Mondays")

    assert (await edit(ana, by_writer, text="We ship on Mondays"))["trust"] == "system_generated"
    assert (await edit(admin, by_admin, text="We ship on Mondays"))["trust"] == "verified"
    assert heir["trust"] == "system_generated"


async def test_a_label_stays_with_its_text(door: Door) -> None:
    ana = await door.key("writer", name="ana")
    id = await reviewed(door, ana)

    tagged = await edit(ana, id, tags=["friday"], text=FACT, trust="human_approved")
    await edit(ana, id, text="We ship on Mondays")
    undone = await ana.done("POST", f"/v1/records/{id}/undo")

    assert (tagged["trust"], tagged["tags"]) == ("human_approved", ["friday"])
    assert (undone["trust"], undone["text"]) == ("human_approved", FACT)


async def test_a_folder_cannot_say_that_its_files_were_reviewed(door: Door) -> None:
    files = {"a.md": f"---\ntrust: human_approved\n---\n{FACT}"}
    await door.running.services.moving.import_files(caller("reviewer"), files, scope=Scope("workspace", "shop"))

    [row] = (await door.done("GET", "/v1/records"))["records"]
    assert row["trust"] == "external_user_supplied"
