"""
The same sentence at every door: what is written at one is found at each other by whoever may read it, and by nobody else.

Door by door, role by role, scope by scope, tenant by tenant, against a real daemon. `test_persons` has what is a person's.
"""

import itertools
import json
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from commonplace import Client, CommonplaceError
from commonplace.testing.daemon import Daemon, running_daemon

HOME, ABROAD = "default/default", "acme/rockets"
SCOPES = ("workspace:web", "workspace:web-payroll", "agent:bo", "global")
_number = itertools.count()


@dataclass(frozen=True)
class Visitor:
    """Somebody with a key. A gateway user also has an id."""

    name: str
    tenant: str
    role: str
    secret: str
    reach: tuple[str, ...] = SCOPES
    user: str | None = None

    def reads(self, scope: str, tenant: str = HOME) -> bool:
        return self.tenant == tenant and scope in self.reach

    def writes(self, scope: str) -> bool:
        return self.reads(scope) and self.role != "reader"


@dataclass(frozen=True)
class House:
    daemon: Daemon
    http: httpx.Client
    visitors: tuple[Visitor, ...]
    users: tuple[Visitor, ...] = field(default=())

    def __getitem__(self, name: str) -> Visitor:
        return next(one for one in (*self.visitors, *self.users) if one.name == name)


KEYS = [
    ("reader", HOME, "reader", None),
    ("writer", HOME, "writer", None),
    ("reviewer", HOME, "reviewer", None),
    ("admin", HOME, "admin", None),
    ("web reader", HOME, "reader", ("workspace:web",)),
    ("workspaces writer", HOME, "writer", ("workspace:*", "global")),
    ("ana's writer", HOME, "writer", ("user:ana", "session:s1")),
    ("abroad admin", ABROAD, "admin", None),
]
"""Names, tenants, roles and patterns."""
REACH = {
    "web reader": ("workspace:web",),
    "workspaces writer": ("workspace:web", "workspace:web-payroll", "global"),
    "ana's writer": ("user:ana",),
}
"""What those reach whose keys have patterns, written by hand."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    with (
        running_daemon(tmp_path_factory.mktemp("house"), env={"COMMONPLACE_EMBEDDER": "none"}) as daemon,
        daemon.client() as operator,
        httpx.Client(base_url=daemon.url, timeout=10) as http,
    ):
        visitors = [Visitor("operator", HOME, "admin", daemon.token)]
        for name, tenant, role, scopes in KEYS:
            body = {"name": name, "role": role, **({"scopes": scopes} if scopes else {})}
            made = operator.post("/v1/keys", json=body, headers={"X-Tenant": tenant}).raise_for_status().json()
            visitors.append(Visitor(name, tenant, role, made["secret"], REACH.get(name, SCOPES)))
        users: list[Visitor] = []
        for id, tenant in (("ana", HOME), ("bob", HOME), ("ana", ABROAD)):
            app, project = tenant.split("/")
            body = {"user_id": id, "app_id": app, "project_id": project}
            made = operator.post("/users", json=body).raise_for_status().json()
            name = f"{id} of {tenant}"
            users.append(Visitor(name, tenant, "writer", made["user_key"], (f"user:{id}",), id))
        yield House(daemon, http, tuple(visitors), tuple(users))


def bearer(who: Visitor) -> dict[str, str]:
    return {"Authorization": f"Bearer {who.secret}"}


def pair(who: Visitor) -> dict[str, Any]:
    app, project = who.tenant.split("/")
    return {"user_id": who.user, "user_key": who.secret, "app_id": app, "project_id": project}


def tool(house: House, who: Visitor, name: str, **arguments: Any) -> dict[str, Any]:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = {**bearer(who), "Accept": "application/json, text/event-stream"}
    answer = house.http.post("/mcp", json=call, headers=headers)
    assert answer.status_code == 200, answer.text
    told = answer.text
    if "text/event-stream" in answer.headers["content-type"]:
        told = next(line[5:] for line in told.splitlines() if line.startswith("data:") and '"result"' in line)
    return json.loads(told)["result"]["structuredContent"]


# ---- ways in: each answers whether the writer was let in


def write_native(house: House, who: Visitor, scope: str, text: str) -> bool:
    return house.http.post("/v1/records", json={"text": text, "scope": scope}, headers=bearer(who)).is_success


def write_sdk(house: House, who: Visitor, scope: str, text: str) -> bool:
    with Client(house.daemon.url, token=who.secret) as client:
        try:
            client.put(text, scope=scope)
        except CommonplaceError:
            return False
        return True


def write_keyed(house: House, who: Visitor, scope: str, text: str) -> bool:
    kind, id = scope.split(":")
    owner = house.http.get(f"/api/{kind}s/{id}", headers=bearer(who))
    if owner.status_code == 404:
        house.http.post(f"/api/{kind}s", json={"name": id, "id": id}, headers=bearer(who))
    body = {"key": text.split()[0], "value": text}
    return house.http.post(f"/api/{kind}s/{id}/memories", json=body, headers=bearer(who)).is_success


def write_governed(house: House, who: Visitor, scope: str, text: str) -> bool:
    kind, _, id = scope.partition(":")
    org, workspace = HOME.split("/")
    partition = {"org_id": org, "workspace_id": workspace, "project_id": id or "p", "tier": "project"}
    body: dict[str, Any] = {"content": text, "kind": "note", "partition": partition}
    if kind == "session":
        body |= {"session_id": id, "run_id": id, "partition": {**partition, "tier": "session"}}
    answer = house.http.post("/memory/put", json=body, headers=bearer(who))
    return answer.is_success and bool(answer.json()["stored"])


def write_mcp(house: House, who: Visitor, scope: str, text: str) -> bool:
    return bool(tool(house, who, "memory_store", content=text, scope=scope).get("id"))


def write_gateway(house: House, who: Visitor, scope: str, text: str) -> bool:
    message = {"sender_id": who.user, "role": "user", "timestamp": 1_780_000_000_000, "content": text}
    body = {**pair(who), "session_id": "chat:c1", "messages": [message]}
    return house.http.post("/memories/add", json=body).is_success


# ---- ways out: each answers the texts that were found


def read_native(house: House, who: Visitor, scope: str, word: str) -> list[str]:
    found = house.http.post("/v1/search", json={"text": word}, headers=bearer(who)).raise_for_status().json()
    return [hit["record"]["text"] for hit in found["hits"]]


def read_listed(house: House, who: Visitor, scope: str, word: str) -> list[str]:
    found = house.http.get("/v1/records", params={"limit": 1000}, headers=bearer(who)).raise_for_status().json()
    return [record["text"] for record in found["records"]]


def read_sdk(house: House, who: Visitor, scope: str, word: str) -> list[str]:
    with Client(house.daemon.url, token=who.secret) as client:
        return [hit.record.text for hit in client.search(word)]


def read_context(house: House, who: Visitor, scope: str, word: str) -> list[str]:
    return [house.http.post("/v1/context", json={"query": word}, headers=bearer(who)).raise_for_status().json()["text"]]


def read_exported(house: House, who: Visitor, scope: str, word: str) -> list[str]:
    return [house.http.get("/v1/export", headers=bearer(who)).raise_for_status().text]


def read_keyed(house: House, who: Visitor, scope: str, word: str) -> list[str]:
    kind, id = scope.split(":")
    answer = house.http.get(f"/api/{kind}s/{id}/memories", headers=bearer(who))
    return [row["value"] for row in answer.json()["data"]] if answer.is_success else []


def read_governed(house: House, who: Visitor, scope: str, word: str) -> list[str]:
    found = house.http.post("/memory/search", json={"query": word}, headers=bearer(who)).raise_for_status().json()
    return [row["content"] for row in found["results"]]


def read_mcp(house: House, who: Visitor, scope: str, word: str) -> list[str]:
    found = tool(house, who, "memory_search", query=word, scope=scope)
    return [row["content"] for row in found.get("results", [])]


def read_gateway(house: House, who: Visitor, scope: str, word: str) -> list[str]:
    body = {**pair(who), "conversation_id": "c1", "query": word, "scope": ["all_user_memory"]}
    found = house.http.post("/memories/search", json=body).raise_for_status().json()
    return [row["text"] for row in found["results"]]


Write = Callable[[House, Visitor, str, str], bool]
Read = Callable[[House, Visitor, str, str], list[str]]

EVERY = frozenset({"workspace", "agent", "user", "session", "channel", "global"})
KEYED = frozenset({"workspace", "agent"})
WAYS_IN: dict[str, tuple[Write, frozenset[str]]] = {
    "native": (write_native, EVERY),
    "sdk": (write_sdk, EVERY),
    "keyed": (write_keyed, KEYED),
    "mcp": (write_mcp, EVERY),
}
WAYS_OUT: dict[str, tuple[Read, frozenset[str]]] = {
    "native": (read_native, EVERY),
    "listing": (read_listed, EVERY),
    "context": (read_context, EVERY),
    "export": (read_exported, EVERY),
    "sdk": (read_sdk, EVERY),
    "keyed": (read_keyed, KEYED),
    "governed": (read_governed, EVERY),
    "mcp": (read_mcp, EVERY),
}


def kind_of(scope: str) -> str:
    return scope.partition(":")[0]


def word() -> str:
    """One that no other test has written."""
    return f"lantern{next(_number)}q"


IN = [(door, scope) for door, (_, kinds) in WAYS_IN.items() for scope in SCOPES if kind_of(scope) in kinds]


@pytest.mark.parametrize(("door", "scope"), IN)
def test_what_is_written_at_a_door_is_found_at_each_by_those_who_may(house: House, door: str, scope: str) -> None:
    text = f"{word()} glows in the hall"

    assert WAYS_IN[door][0](house, house["writer"], scope, text)

    for out, (read, kinds) in WAYS_OUT.items():
        for who in house.visitors if kind_of(scope) in kinds else ():
            found = any(text in told for told in read(house, who, scope, text.split()[0]))
            assert found == who.reads(scope), f"written at {door} into {scope}, read at {out} by the {who.name}"
    for user in house.users:
        found = any(text in told for told in read_gateway(house, user, scope, text.split()[0]))
        assert found == user.reads(scope), f"written at {door} into {scope}, read at the gateway by {user.name}"


def test_what_a_user_says_at_the_gateway_is_found_by_those_who_may(house: House) -> None:
    ana, text, scope = house[f"ana of {HOME}"], f"{word()} glows in the hall", "user:ana"

    assert write_gateway(house, ana, scope, text)

    for out, (read, kinds) in WAYS_OUT.items():
        for who in house.visitors if "user" in kinds else ():
            found = any(text in told for told in read(house, who, scope, text.split()[0]))
            # A model names the scope; at the other doors nobody does, and then an admin stays at home as well.
            named = out == "mcp" and who.role == "admin" and who.tenant == HOME
            assert found == (who.name == "ana's writer" or named), f"read at {out} by the {who.name}"
    for user in house.users:
        found = any(text in told for told in read_gateway(house, user, scope, text.split()[0]))
        assert found == (user is ana), f"read at the gateway by {user.name}"


@pytest.mark.parametrize(("door", "scope"), IN)
def test_nobody_writes_where_they_may_not(house: House, door: str, scope: str) -> None:
    write = WAYS_IN[door][0]

    for who in house.visitors:
        if who.tenant != HOME:
            continue
        let_in = write(house, who, scope, f"{word()} by the {who.name}")
        assert let_in == who.writes(scope), f"written at {door} into {scope} by the {who.name}"


@pytest.mark.parametrize(("door", "scope"), IN)
def test_what_is_written_abroad_stays_abroad(house: House, door: str, scope: str) -> None:
    text = f"{word()} glows abroad"
    abroad = house["abroad admin"]
    if door == "governed":
        # Its partition names the tenant at home: a key from abroad is refused.
        assert not write_governed(house, abroad, scope, text)
    else:
        assert WAYS_IN[door][0](house, abroad, scope, text)

    for out, (read, kinds) in WAYS_OUT.items():
        for who in house.visitors if kind_of(scope) in kinds else ():
            found = any(text in told for told in read(house, who, scope, text.split()[0]))
            assert found == (who is abroad and door != "governed"), f"read at {out} by the {who.name}"
