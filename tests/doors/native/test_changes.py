"""What becomes of a record over HTTP, and who may not have it so."""

import asyncio
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_an_edit_changes_what_is_named_and_empties_what_is_cleared(http: httpx.AsyncClient, put: Any) -> None:
    id = (await put("Old", tags=["keep"], key="name"))["id"]

    answer = await http.patch(
        f"/v1/records/{id}", json={"text": "New", "importance": 7, "clear": ["key"], "reason": "typo"}
    )

    told = answer.json()
    assert (told["text"], told["importance"], told["tags"], told["key"]) == ("New", 7, ["keep"], None)
    assert (told["version"], told["reason"], answer.headers["ETag"]) == (2, "typo", '"2"')


async def test_a_version_that_is_not_the_one_held_is_412_in_a_header_and_409_in_a_body(
    http: httpx.AsyncClient, put: Any
) -> None:
    id = (await put("A"))["id"]

    header = await http.patch(f"/v1/records/{id}", json={"text": "B"}, headers={"If-Match": '"7"'})
    body = await http.patch(f"/v1/records/{id}", json={"text": "B", "expected": 7})
    right = await http.patch(f"/v1/records/{id}", json={"text": "B"}, headers={"If-Match": '"1"'})

    assert code(header) == (412, "precondition_failed")
    assert code(body) == (409, "record_changed")
    assert (right.status_code, right.json()["version"]) == (200, 2)


@pytest.mark.parametrize("tag", ["1", '"one"', '"1", "2"', '"99999999999"', ""])
async def test_an_if_match_that_names_no_version_is_400(http: httpx.AsyncClient, put: Any, tag: str) -> None:
    id = (await put("A"))["id"]

    answer = await http.post(f"/v1/records/{id}/pin", headers={"If-Match": tag})

    assert code(answer) == (400, "invalid_input")


async def test_two_versions_named_at_once_are_400(http: httpx.AsyncClient, put: Any) -> None:
    id = (await put("A"))["id"]

    answer = await http.patch(f"/v1/records/{id}", json={"text": "B", "expected": 1}, headers={"If-Match": '"2"'})

    assert code(answer) == (400, "invalid_input")


async def test_the_second_of_two_writers_is_refused_and_nothing_is_lost(http: httpx.AsyncClient, put: Any) -> None:
    id = (await put("A"))["id"]

    answers = await asyncio.gather(
        *[
            http.patch(f"/v1/records/{id}", json={"text": text}, headers={"If-Match": '"1"'})
            for text in ("one", "two", "three")
        ]
    )

    assert sorted(answer.status_code for answer in answers) == [200, 412, 412]
    assert len((await http.get(f"/v1/records/{id}/versions")).json()["versions"]) == 2


async def test_a_deleted_record_comes_back_by_undo(http: httpx.AsyncClient, put: Any) -> None:
    id = (await put("A"))["id"]

    deleted = await http.delete(f"/v1/records/{id}", params={"reason": "no longer true"})
    stale = await http.delete(f"/v1/records/{id}", params={"expected": 1})
    restored = await http.post(f"/v1/records/{id}/undo")
    nothing = await http.post(f"/v1/records/{(await put('B'))['id']}/undo", json={})

    assert (deleted.json()["state"], deleted.json()["reason"]) == ("deleted", "no longer true")
    assert code(stale) == (409, "record_changed")
    assert (restored.json()["state"], restored.json()["version"]) == ("live", 3)
    assert code(nothing) == (409, "nothing_to_undo")


async def test_each_verb_does_what_it_says(http: httpx.AsyncClient, put: Any) -> None:
    id = (await put("A", scope="session:s"))["id"]

    pinned = await http.post(f"/v1/records/{id}/pin")
    unpinned = await http.post(f"/v1/records/{id}/pin", json={"pinned": False})
    promoted = await http.post(f"/v1/records/{id}/promote", json={"scope": "workspace:web"})
    demoted = await http.post(f"/v1/records/{id}/demote", json={"reason": "a draft"})

    assert (pinned.json()["pinned"], unpinned.json()["pinned"]) == (True, False)
    assert (promoted.json()["scope"], promoted.json()["visibility"]) == ("workspace:web", "shared")
    assert (demoted.json()["state"], demoted.json()["version"]) == ("demoted", 5)


async def test_a_successor_takes_over_the_key(http: httpx.AsyncClient, put: Any) -> None:
    old = await put("We ship on Fridays", key="day", tags=["plan"])

    answer = await http.post(f"/v1/records/{old['id']}/supersede", json={"text": "We ship on Mondays"})

    new, before = answer.json(), (await http.get(f"/v1/records/{old['id']}")).json()
    assert (answer.status_code, new["key"], new["tags"]) == (201, "day", ["plan"])
    assert (before["state"], before["superseded_by"]) == ("superseded", new["id"])


async def test_a_record_expires_now_or_later(http: httpx.AsyncClient, put: Any) -> None:
    now, later = (await put("A"))["id"], (await put("B"))["id"]

    gone = await http.post(f"/v1/records/{now}/expire")
    kept = await http.post(f"/v1/records/{later}/expire", json={"at": "2099-01-01T00:00:00Z"})

    assert (gone.json()["state"], kept.json()["state"]) == ("expired", "live")
    assert kept.json()["expires_at"] == "2099-01-01T00:00:00.000Z"


async def test_a_writer_may_not_promote_nor_call_a_record_verified(
    http: httpx.AsyncClient, put: Any, keyed: Any
) -> None:
    id = (await put("A"))["id"]
    headers = await keyed("writer")

    promoted = await http.post(f"/v1/records/{id}/promote", headers=headers)
    answers = [
        await http.patch(f"/v1/records/{id}", json={"trust": "verified"}, headers=headers),
        await http.post("/v1/records", json={"text": "x", "trust": "human_approved"}, headers=headers),
    ]

    assert {code(answer) for answer in answers} == {(403, "forbidden")}
    assert code(promoted) == (403, "review_required")


async def test_delete_and_demote_take_a_whole_id(http: httpx.AsyncClient, put: Any) -> None:
    id = (await put("A"))["id"]

    for length in (8, 18, 35):
        assert code(await http.delete(f"/v1/records/{id[:length]}")) == (400, "invalid_input")
        assert code(await http.post(f"/v1/records/{id[:length]}/demote")) == (400, "invalid_input")


async def test_what_is_purged_leaves_nothing(http: httpx.AsyncClient, put: Any) -> None:
    id = (await put("A", scope="session:old"))["id"]
    await http.patch(f"/v1/records/{id}", json={"text": "B"})

    answer = await http.post("/v1/purge", json={"scope": "session:old"})

    assert answer.json() == {"records": 1, "versions": 2}
    assert code(await http.get(f"/v1/records/{id}")) == (404, "record_not_found")


@pytest.mark.parametrize("body", [{}, {"scope": "global", "user": "ana"}, {"ids": []}, {"source": "a\0"}])
async def test_a_purge_names_exactly_one_thing(http: httpx.AsyncClient, body: dict[str, Any]) -> None:
    answer = await http.post("/v1/purge", json=body)

    assert code(answer) == (400, "invalid_input")


async def test_only_an_admin_purges(http: httpx.AsyncClient, put: Any, keyed: Any) -> None:
    id = (await put("A"))["id"]

    answer = await http.post("/v1/purge", json={"ids": [id]}, headers=await keyed("reviewer"))

    assert code(answer) == (403, "forbidden")
    assert (await http.get(f"/v1/records/{id}")).status_code == 200


# --- idempotency


async def test_a_request_sent_twice_under_one_key_is_done_once(http: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "k-1"}

    first = await http.post("/v1/records", json={"text": "once"}, headers=headers)
    again = await http.post("/v1/records", json={"text": "once"}, headers=headers)

    assert first.json() == again.json()
    assert (first.status_code, again.status_code) == (201, 201)
    assert (await http.get("/v1/stats")).json()["records"] == 1


async def test_another_request_under_the_same_key_is_422(http: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "k-1"}
    await http.post("/v1/records", json={"text": "once"}, headers=headers)

    answer = await http.post("/v1/records", json={"text": "something else"}, headers=headers)

    assert code(answer) == (422, "idempotency_key_reused")


async def test_requests_at_the_same_time_under_one_key_are_done_once(http: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(
        *[http.post("/v1/records", json={"text": "once"}, headers={"Idempotency-Key": "k"}) for _ in range(5)]
    )

    assert len({answer.json()["record"]["id"] for answer in answers}) == 1
    assert (await http.get("/v1/stats")).json()["records"] == 1


async def test_every_kind_of_write_is_done_once_under_a_key(http: httpx.AsyncClient, put: Any) -> None:
    id = (await put("A"))["id"]
    writes: list[tuple[str, str, dict[str, Any]]] = [
        ("PATCH", f"/v1/records/{id}", {"json": {"text": "B"}}),
        ("POST", f"/v1/records/{id}/pin", {}),
        ("POST", f"/v1/records/{id}/undo", {}),
        ("POST", f"/v1/records/{id}/promote", {"json": {"scope": "global"}}),
        ("POST", f"/v1/records/{id}/demote", {}),
        ("POST", f"/v1/records/{id}/expire", {}),
        ("DELETE", f"/v1/records/{id}", {}),
        ("POST", "/v1/records/bulk", {"json": {"records": [{"text": "c"}]}}),
        ("POST", "/v1/turns", {"json": {"session": "s", "turns": [{"speaker": "a", "text": "b"}]}}),
    ]

    for number, (method, path, more) in enumerate(writes):
        headers = {"Idempotency-Key": f"key {number}"}
        first = await http.request(method, path, headers=headers, **more)
        again = await http.request(method, path, headers=headers, **more)

        assert first.is_success, first.text
        assert again.json() == first.json()


async def test_two_keys_of_the_same_name_have_each_their_own_idempotency_keys(
    http: httpx.AsyncClient, keyed: Any
) -> None:
    """Of the same role and so, in this fixture, of the same name: neither is answered what the other said."""
    one, other = await keyed("writer"), await keyed("writer")
    named = [key["name"] for key in (await http.get("/v1/keys")).json()["keys"]]

    first = await http.post("/v1/records", json={"text": "mine"}, headers={**one, "Idempotency-Key": "k"})
    second = await http.post("/v1/records", json={"text": "yours"}, headers={**other, "Idempotency-Key": "k"})
    same = await http.post("/v1/records", json={"text": "mine"}, headers={**other, "Idempotency-Key": "k2"})

    assert named == ["writer", "writer"]
    assert (first.status_code, second.status_code) == (201, 201)
    assert second.json()["record"]["text"] == "yours"
    assert same.json()["record"]["id"] != first.json()["record"]["id"]
