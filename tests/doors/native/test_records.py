"""Records over HTTP: put, read, list, and what is refused."""

import re
from typing import Any

import httpx
import pytest
from fastapi.routing import iter_route_contexts

from commonplace.server.auth import AppState
from commonplace.testing.daemon import InProcess

pytestmark = pytest.mark.anyio

EVERYTHING = {
    "text": "All of it",
    "scope": "workspace:web",
    "key": "all",
    "kind": "fact",
    "source": "auto",
    "tags": ["a", "b"],
    "metadata": {"owner": "ana", "retries": 3, "deep": [1, {"x": None}]},
    "pinned": True,
    "importance": 80,
    "trust": "verified",
    "visibility": "shared",
    "at": "2026-03-01T09:30:00.000Z",
    "expires_at": "2099-01-01T00:00:00.000Z",
    "session": "s1",
    "position": 4,
    "speaker": "ana",
    "provenance": {"run": "r1", "message": "m1", "file": "notes.md"},
    "reason": "to see",
}


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


# --- put


async def test_a_new_record_is_201_and_the_next_version_of_it_200(http: httpx.AsyncClient) -> None:
    first = await http.post("/v1/records", json={"text": "We ship on Fridays", "key": "day"})
    second = await http.post("/v1/records", json={"text": "We ship on Mondays", "key": "day"})

    assert (first.status_code, first.json()["outcome"], first.headers["ETag"]) == (201, "created", '"1"')
    assert (second.status_code, second.json()["outcome"], second.headers["ETag"]) == (200, "updated", '"2"')
    assert second.json()["record"]["id"] == first.json()["record"]["id"]


async def test_put_takes_every_field_and_tells_it_again(http: httpx.AsyncClient) -> None:
    answer = await http.post("/v1/records", json=EVERYTHING)

    told = answer.json()["record"]
    assert {name: told[name] for name in EVERYTHING} == EVERYTHING
    assert (await http.get(f"/v1/records/{told['id']}")).json() == {**told, "outcome": None}


async def test_a_time_without_a_zone_is_utc(http: httpx.AsyncClient) -> None:
    naive = await http.post("/v1/records", json={"text": "a", "at": "2026-03-01T09:30"})
    elsewhere = await http.post("/v1/records", json={"text": "b", "at": "2026-03-01T09:30:00+02:00"})

    assert naive.json()["record"]["at"] == "2026-03-01T09:30:00.000Z"
    assert elsewhere.json()["record"]["at"] == "2026-03-01T07:30:00.000Z"


async def test_a_nearly_equal_text_is_dropped_where_asked(http: httpx.AsyncClient, put: Any) -> None:
    text = "The staging database is rebuilt every Sunday night at eleven"
    first = await put(text)

    again = await http.post("/v1/records", json={"text": f"{text}!", "dedupe": "near"})

    assert (again.status_code, again.json()["outcome"], again.json()["record"]["id"]) == (200, "unchanged", first["id"])


async def test_a_write_with_a_field_that_is_none_of_ours_is_a_write(http: httpx.AsyncClient) -> None:
    put = await http.post("/v1/records", json={"text": "x", "colour": "red"})
    path = f"/v1/records/{put.json()['record']['id']}"
    edit = await http.patch(path, json={"text": "y", "colour": "red"})

    assert (put.status_code, edit.status_code) == (201, 200)
    assert (await http.get(path)).json()["text"] == "y"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/search", {"text": "x"}),
        ("/v1/context", {"query": "x"}),
        ("/v1/purge", {"scope": "workspace:web"}),
        ("/v1/rollback", {"source": "web", "reason": "poisoned"}),
        ("/v1/review/purge", {"source": "web", "reason": "poisoned"}),
        ("/v1/keys", {"name": "bo"}),
    ],
)
async def test_a_field_that_might_have_narrowed_is_refused_by_its_name(
    http: httpx.AsyncClient, path: str, body: dict[str, Any]
) -> None:
    answer = await http.post(path, json={**body, "colour": "red"})

    assert code(answer) == (400, "invalid_input")
    assert [problem["where"] for problem in answer.json()["error"]["details"]["problems"]] == ["colour"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"text": 7}, (400, "invalid_input")),
        ({"text": "x", "importance": "80"}, (400, "invalid_input")),
        ({"text": "x", "at": 1700000000}, (400, "invalid_input")),
        ({"text": "x", "at": "yesterday"}, (400, "invalid_input")),
        ({"text": "x", "at": "0001-01-01T00:00:00+14:00"}, (400, "invalid_input")),
        ({"text": "x", "tags": ["a\0b"]}, (400, "invalid_input")),
        ({"text": "x", "metadata": {"a": "\0"}}, (400, "invalid_input")),
        ({"text": " "}, (400, "invalid_text")),
        ({"text": "a\0b"}, (400, "invalid_text")),
        ({"text": "x", "scope": "planet:earth"}, (400, "invalid_scope")),
        ({"text": "x", "key": "k" * 256}, (400, "invalid_key")),
        ({"text": "x", "importance": 101}, (400, "invalid_importance")),
        ({"text": "x" * (2 * 1024 * 1024 + 1)}, (413, "text_too_large")),
        ({"text": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"}, (422, "secret_refused")),
        ({"text": "x", "key": "new", "expected": 3}, (409, "record_changed")),
    ],
)
async def test_what_cannot_be_kept_is_refused_with_its_reason(
    http: httpx.AsyncClient, body: dict[str, Any], expected: tuple[int, str]
) -> None:
    answer = await http.post("/v1/records", json=body)

    assert code(answer) == expected
    assert (await http.get("/v1/stats")).json()["records"] == 0


@pytest.mark.parametrize(
    "body", [b'{"text": "\\ud800"}', b'{"text": "x", "metadata": {"\\udfff": 1}}', b"[]", b"7", b"{"]
)
async def test_what_is_no_text_or_no_object_is_400(http: httpx.AsyncClient, body: bytes) -> None:
    answer = await http.post("/v1/records", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 400


async def test_an_error_does_not_repeat_what_was_sent(http: httpx.AsyncClient) -> None:
    answer = await http.post("/v1/records", json={"text": "x", "secret-field": "hunter2"})

    assert "hunter2" not in answer.text


async def test_of_several_records_all_are_kept_or_none(http: httpx.AsyncClient) -> None:
    refused = await http.post("/v1/records/bulk", json={"records": [{"text": "good"}, {"text": "bad", "key": ""}]})
    kept = await http.post("/v1/records/bulk", json={"records": [{"text": "one"}, {"text": "two"}]})

    assert code(refused) == (400, "invalid_key")
    assert (kept.status_code, [one["outcome"] for one in kept.json()["written"]]) == (201, ["created", "created"])
    assert (await http.get("/v1/stats")).json()["records"] == 2


@pytest.mark.parametrize("count", [0, 1001])
async def test_a_batch_has_one_to_a_thousand_records(http: httpx.AsyncClient, count: int) -> None:
    answer = await http.post("/v1/records/bulk", json={"records": [{"text": "x"}] * count})

    assert code(answer) == (400, "invalid_input")


async def test_a_turn_told_twice_is_kept_once(http: httpx.AsyncClient) -> None:
    turns = [{"speaker": "ana", "text": "I moved to Lisbon", "at": "2026-03-01T09:30:00Z"}]
    body = {"session": "chat-7", "scope": "user:ana", "turns": turns}

    first = await http.post("/v1/turns", json=body)
    second = await http.post("/v1/turns", json=body)

    [told], [again] = first.json()["written"], second.json()["written"]
    assert (first.status_code, told["outcome"], again["outcome"]) == (201, "created", "unchanged")
    assert (told["record"]["kind"], told["record"]["session"], told["record"]["position"]) == ("turn", "chat-7", 0)


# --- read


async def test_a_record_is_read_by_the_beginning_of_its_id(http: httpx.AsyncClient, put: Any) -> None:
    id = (await put("A"))["id"]

    answer = await http.get(f"/v1/records/{id[:18]}")

    assert answer.json()["id"] == id


@pytest.mark.parametrize("tag", ['"1"', 'W/"1"', '"9", "1"', "*"])
async def test_a_version_that_the_caller_has_is_304(http: httpx.AsyncClient, put: Any, tag: str) -> None:
    id = (await put("A"))["id"]

    answer = await http.get(f"/v1/records/{id}", headers={"If-None-Match": tag})

    assert (answer.status_code, answer.content, answer.headers["ETag"]) == (304, b"", '"1"')


async def test_earlier_versions_are_read_by_number_and_as_a_history(http: httpx.AsyncClient, put: Any) -> None:
    id = (await put("First"))["id"]
    await http.patch(f"/v1/records/{id}", json={"text": "Second"})

    first = await http.get(f"/v1/records/{id}?version=1")
    missing = await http.get(f"/v1/records/{id}?version=3")
    versions = await http.get(f"/v1/records/{id}/versions")

    assert (first.json()["text"], first.headers["ETag"]) == ("First", '"1"')
    assert code(missing) == (404, "version_not_found")
    assert [one["text"] for one in versions.json()["versions"]] == ["First", "Second"]


@pytest.mark.parametrize("id", ["01920000-0000-7000-8000-000000000000", "nonsense", "%00", "..%2f..", "a" * 200])
async def test_an_id_that_is_none_is_404(http: httpx.AsyncClient, id: str) -> None:
    answer = await http.get(f"/v1/records/{id}")

    assert answer.status_code in (400, 404)


async def test_a_record_out_of_reach_is_not_found(http: httpx.AsyncClient, put: Any, keyed: Any) -> None:
    id = (await put("Private", scope="user:ana"))["id"]
    headers = await keyed("writer", "workspace:web")

    answers = [
        await http.get(f"/v1/records/{id}", headers=headers),
        await http.get(f"/v1/records/{id}/versions", headers=headers),
        await http.patch(f"/v1/records/{id}", json={"text": "mine"}, headers=headers),
        await http.delete(f"/v1/records/{id}", headers=headers),
    ]

    assert {code(answer) for answer in answers} == {(404, "record_not_found")}


# --- list


async def test_a_listing_is_narrowed_by_each_parameter(http: httpx.AsyncClient, put: Any) -> None:
    whole = {name: value for name, value in EVERYTHING.items() if name != "expires_at"}
    await put("Something else", scope="user:bo", at="2020-01-01T00:00:00Z")
    await http.post("/v1/records", json=whole)

    queries = [
        "scope=workspace:web&scope=workspace:other",
        "kind=fact",
        "source=auto&source=manual-not",
        "tag=a&tag=b",
        "trust=verified",
        "session=s1",
        "speaker=ana",
        "key=all",
        "key_prefix=al",
        "pinned=true",
        "visibility=shared",
        "since=2026-01-01",
        "since=2026-03-01T09:30:00Z&until=2026-03-01T09:30:01Z",
    ]
    found = {query: (await http.get(f"/v1/records?{query}")).json()["records"] for query in queries}

    assert {query: [one["text"] for one in records] for query, records in found.items()} == {
        key: ["All of it"] for key in queries
    }


async def test_what_gave_way_to_a_record_is_listed(http: httpx.AsyncClient, put: Any) -> None:
    old = await put("Tea at four")
    new = (
        (await http.post(f"/v1/records/{old['id']}/supersede", json={"text": "Tea at five"})).raise_for_status().json()
    )
    await http.post(f"/v1/records/{new['id']}/supersede", json={"text": "No tea"})

    found = await http.get(f"/v1/records?superseded_by={new['id']}")
    nobody = await http.get("/v1/records?superseded_by=nobody")

    assert [one["text"] for one in found.json()["records"]] == ["Tea at four"]
    assert nobody.json()["records"] == []


async def test_states_are_listed_where_asked(http: httpx.AsyncClient, put: Any) -> None:
    gone = await put("Gone")
    await put("Here")
    await http.delete(f"/v1/records/{gone['id']}")

    live = await http.get("/v1/records")
    both = await http.get("/v1/records?state=live&state=deleted&order=oldest")

    assert [one["text"] for one in live.json()["records"]] == ["Here"]
    assert {(one["text"], one["state"]) for one in both.json()["records"]} == {("Gone", "deleted"), ("Here", "live")}


@pytest.mark.parametrize(
    "query",
    ["kinds=fact", "limit=0", "limit=1001", "limit=x", "order=random", "state=asleep", "trust=blind", "pinned=7"],
)
async def test_a_parameter_we_do_not_know_is_refused(http: httpx.AsyncClient, query: str) -> None:
    answer = await http.get(f"/v1/records?{query}")

    assert code(answer) == (400, "invalid_input")


LISTS: dict[str, dict[str, str]] = {
    "/v1/records": {"limit": "5"},
    "/v1/search": {"q": "x"},
    "/v1/resources": {"limit": "5"},
    "/v1/tree": {"depth": "1"},
    "/v1/tree/node": {"uri": "commonplace://"},
    "/v1/tasks": {"kind": "import", "state": "done", "limit": "5"},
    "/v1/knowledge/items": {"status": "working", "limit": "5"},
    "/v1/knowledge/spaces": {},
    "/v1/review": {"source": "web"},
    "/v1/approvals": {"limit": "5"},
    "/v1/audit": {"limit": "5"},
    "/v1/members": {"scope": "session:s-1"},
    "/v1/agents": {},
    "/v1/agents/learnings": {"agent": "ana"},
    "/v1/workspaces": {},
    "/v1/managed": {},
    "/v1/managed/changes": {},
    "/v1/keys": {},
    "/v1/users": {},
    "/v1/rules": {},
    "/v1/channels": {},
    "/v1/channels/web/rooms": {"everyone": "true"},
    "/v1/channels/web/senders": {},
    "/v1/sender-links": {},
    "/v1/schedules": {"limit": "5"},
    "/v1/schedules/pauses": {},
    "/workspace/memory": {},
    "/workspace/audit": {},
    "/memory": {"q": "x", "project_tag": "web", "limit": "5"},
    "/memory/audit": {"run_id": "r", "limit": "5"},
    "/api/agents/ana/memories": {},
    "/api/workspaces/web/memories": {"source": "manual", "pinned": "true"},
}
"""Lists with all their conditions, or some of them."""

NO_LIST = re.compile(
    r"""
    (?!.*/memories$).*}$  # one thing, by its name
    | /(health|ready|metrics|docs|openapi\.json|capabilities|daemon/status|)$
    | /v1/(me|check|embedder|weights|latency|sign-in|layers)$  # one answer, about nothing that could be narrowed
    | .*/(state|events|content|blackboard)$ | /v1/records/{id}$  # one thing, or a stream
    | /(api|session|context)/ | /resources$ | /memory/context/tree$ | /workspace/{cwd:path}/sessions$  # as published clients ask: what they send is taken
    """,
    re.VERBOSE,
)


async def test_a_route_that_lists_refuses_a_condition_that_it_does_not_know_by_its_name(
    running: InProcess, http: httpx.AsyncClient
) -> None:
    paths = [
        str(context.path)
        for context in iter_route_contexts(AppState.of(running.app).routes)
        if "GET" in (context.methods or ()) and not NO_LIST.match(str(context.path))
    ]
    wrong: list[str] = []
    for path in paths:
        answer = await http.get(re.sub(r"{[^}]+}", "web", path), params={**LISTS.get(path, {}), "colour": "red"})
        if answer.status_code != 400 or "colour" not in answer.text:
            wrong.append(f"{path}: {answer.status_code} {answer.text[:100]}")

    assert wrong == []
    assert len(paths) > 40


@pytest.mark.parametrize("path", LISTS)
async def test_a_list_of_any_door_takes_its_conditions_and_refuses_another_by_its_name(
    http: httpx.AsyncClient, put: Any, path: str
) -> None:
    for scope in ("agent:ana", "workspace:web", "session:s-1"):
        await put("x", scope=scope)

    known = await http.get(path, params=LISTS[path])
    unknown = await http.get(path, params={**LISTS[path], "colour": "red"})

    stranger = await http.get(path, params={"colour": "red"}, headers={"Authorization": "Bearer nobody"})

    assert (known.status_code, unknown.status_code, stranger.status_code) == (200, 400, 401)
    assert "colour" in unknown.text


async def test_a_cursor_that_is_none_is_refused(http: httpx.AsyncClient) -> None:
    answer = await http.get("/v1/records?cursor=nonsense")

    assert code(answer) == (400, "invalid_query")


async def test_pages_hold_while_others_write(http: httpx.AsyncClient, put: Any) -> None:
    before = [(await put(f"Note {number}"))["id"] for number in range(7)]
    seen: list[str] = []
    cursor = ""

    while True:
        page = (await http.get("/v1/records", params={"limit": 3, **({"cursor": cursor} if cursor else {})})).json()
        seen += [one["id"] for one in page["records"]]
        if page["cursor"] is None:
            break
        cursor = page["cursor"]
        await put("Written in between")

    assert [id for id in seen if id in before] == before[::-1]
    assert len(seen) == len(set(seen))


async def test_a_scope_that_is_named_and_out_of_reach_is_403(http: httpx.AsyncClient, keyed: Any, put: Any) -> None:
    await put("Theirs", scope="user:ana")
    await put("Ours", scope="workspace:web")
    headers = await keyed("reader", "workspace:web")

    named = await http.get("/v1/records?scope=user:ana", headers=headers)
    unnamed = await http.get("/v1/records", headers=headers)
    writing = await http.post("/v1/records", json={"text": "x", "scope": "workspace:web"}, headers=headers)

    assert code(named) == (403, "forbidden")
    assert [one["text"] for one in unnamed.json()["records"]] == ["Ours"]
    assert code(writing) == (403, "forbidden")
