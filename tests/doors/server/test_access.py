"""Who asks: every route says how it is entered, and nobody enters otherwise."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import pytest
from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import iter_route_contexts
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from commonplace.server.auth import LOCAL, PUBLIC, AppState, Caller, require_access
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import InProcess, Opened, served
from commonplace.values.audit import AuditQuery
from commonplace.values.principal import Principal

pytestmark = pytest.mark.anyio
OPERATOR = Principal(subject="operator", tenant="default/default", role="admin", operator=True)


def routes(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Every method and path there is, with something in place of each name."""
    for context in iter_route_contexts(AppState.of(app).routes):
        for method in sorted(context.methods or {"GET"}):
            yield method, re.sub(r"\{[^}]*\}", "x", context.path or "/")


async def test_no_route_answers_without_a_key_but_those_that_are_named(home: Path) -> None:
    async with served(home) as running:
        for method, path in routes(running.app):
            answer = await running.stranger.request(method, path)
            if path not in PUBLIC | LOCAL:
                assert 400 <= answer.status_code < 500, (method, path)
                assert answer.status_code == 401 or path.startswith(("/memories", "/resources", "/console/")), (
                    method,
                    path,
                )


async def test_no_route_answers_a_wrong_key(home: Path, clock: FakeClock) -> None:
    wrong = {"Authorization": "Bearer cp_wrong"}
    async with served(home, clock=clock) as running:
        for method, path in routes(running.app):
            # An address that guesses is refused for a while, which is another sentence.
            clock.advance(timedelta(minutes=2))
            answer = await running.stranger.request(method, path, headers=wrong)
            assert path in PUBLIC or 400 <= answer.status_code < 500, (method, path)


@pytest.mark.parametrize(
    "wrong", ["Basic b3A6eA==", "Bearer", "Bearer ", "the-operator-token-of-the-tests", "Bearer x y"]
)
async def test_what_is_no_key_is_not_taken_for_no_key(opened: Opened, wrong: str) -> None:
    async with opened(no_auth=True) as running:
        answer = await running.stranger.get("/v1/trial/whoami", headers={"Authorization": wrong})

    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")


def test_a_route_that_does_not_say_who_may_enter_keeps_the_server_from_starting() -> None:
    forgotten = APIRouter()
    forgotten.add_api_route("/v1/forgotten", lambda: "secret")
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.include_router(forgotten)

    with pytest.raises(RuntimeError, match="/v1/forgotten"):
        require_access(app.routes)


def test_a_route_may_leave_it_to_its_dependencies_to_say_who_may_enter() -> None:
    async def tenant(who: Caller) -> str:
        return who.tenant

    async def by_annotation(tenant: Annotated[str, Depends(tenant)]) -> str:
        return tenant

    async def by_default(tenant: str = Depends(tenant)) -> str:
        return tenant

    router = APIRouter()
    router.add_api_route("/a", by_annotation)
    router.add_api_route("/b", by_default)

    require_access(router.routes)


def test_nor_may_a_mount_or_a_plain_route_be_forgotten() -> None:
    def plain(_: Request) -> PlainTextResponse:
        return PlainTextResponse("secret")

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, routes=[Route("/a", plain), Mount("/b", routes=[])])

    with pytest.raises(RuntimeError, match="/a, /b"):
        require_access(app.routes)


async def test_a_request_is_known_by_its_key_door_and_id(running: InProcess) -> None:
    answer = await running.client.get("/v1/trial/whoami", headers={"X-Request-Id": "r-1", "X-Tenant": "acme/web"})

    told = {"subject": "local", "tenant": "acme/web", "door": "native", "request": "r-1", "at": "127.0.0.1"}
    assert answer.json() == told
    assert answer.headers["x-request-id"] == "r-1"


async def test_a_request_id_that_is_none_is_replaced(running: InProcess) -> None:
    answer = await running.client.get("/v1/trial/whoami", headers={"X-Request-Id": "two words"})

    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["x-request-id"])


@pytest.mark.parametrize("name", ["X-Client-Id", "X-Qwen-Client-Id"])
async def test_a_client_may_name_itself(running: InProcess, name: str) -> None:
    good = await running.client.post("/v1/trial/echo", json={"text": "x"}, headers={name: "editor:1"})
    bad = await running.client.post("/v1/trial/echo", json={"text": "x"}, headers={name: "no spaces"})

    assert good.json()["client"] == "editor:1"
    assert (bad.status_code, bad.json()["error"]["code"]) == (400, "invalid_client_id")


async def test_a_daemon_that_is_open_lets_everybody_in_but_at_strict_routes(opened: Opened) -> None:
    async with opened(no_auth=True) as running:
        anyone = await running.stranger.get("/v1/trial/whoami")
        strict = await running.stranger.get("/v1/trial/strict")
        known = await running.client.get("/v1/trial/strict")

    assert anyone.json()["subject"] == "local"
    assert (strict.status_code, strict.json()["error"]["code"]) == (401, "token_required")
    assert known.status_code == 200


async def test_a_key_opens_until_it_is_revoked(running: InProcess) -> None:
    key, secret = await running.services.identity.create_key(OPERATOR, "ci", "reader")
    shown = {"Authorization": f"Bearer {secret}"}
    before = await running.stranger.get("/v1/trial/whoami", headers=shown)
    await running.services.identity.revoke_key(OPERATOR, key.id)

    after = await running.stranger.get("/v1/trial/whoami", headers=shown)

    assert (before.json()["subject"].startswith("key/"), after.status_code) == (True, 401)


async def test_who_is_refused_is_in_the_audit_of_the_tenant_it_was_refused_in(running: InProcess) -> None:
    identity, elsewhere = running.services.identity, replace(OPERATOR, tenant="acme/web")
    key, secret = await identity.create_key(elsewhere, "ci", "reader")
    shown = {"Authorization": f"Bearer {secret}"}
    await running.stranger.get("/v1/trial/whoami", headers={**shown, "X-Tenant": "other/one"})
    await identity.revoke_key(elsewhere, key.id)
    await running.stranger.get("/v1/trial/whoami", headers=shown)
    await running.stranger.post("/memories/trial", json={"text": "uk_wrong"}, headers={"X-Tenant": "no tenant"})

    page = await running.services.desk.store.journal.audit(None, AuditQuery(actions=("auth.denied",)), 10, None)
    told = [(row.tenant, row.actor, row.key) for row in reversed(page.rows)]
    assert told == [("acme/web", "ci", key.id), ("acme/web", "unknown", key.id), ("default/default", "unknown", None)]


async def test_a_user_comes_in_with_the_pair_in_the_body(running: InProcess) -> None:
    _, secret = await running.services.identity.create_user(OPERATOR, "ana")

    right = await running.stranger.post("/memories/trial", json={"text": secret})
    wrong = await running.stranger.post("/memories/trial", json={"text": "uk_wrong"})

    assert right.json() == {"subject": "ana"}
    assert (wrong.status_code, wrong.json()["code"]) == (401, "unauthenticated")


async def test_an_address_that_guesses_is_refused_for_a_while(opened: Opened, clock: FakeClock) -> None:
    wrong = {"Authorization": "Bearer cp_wrong"}
    async with opened(clock=clock, address=("192.0.2.7", 50_000)) as running:
        codes = [(await running.stranger.get("/v1/trial/whoami", headers=wrong)).status_code for _ in range(21)]
        refused = await running.client.get("/v1/trial/whoami")
        clock.advance(timedelta(minutes=1))
        later = await running.client.get("/v1/trial/whoami")

    assert codes == [401] * 20 + [429]
    assert (refused.status_code, later.status_code) == (429, 200)
    assert int(refused.headers["retry-after"]) >= 1


async def test_a_key_that_asks_too_often_is_told_when_to_come_back(opened: Opened, clock: FakeClock) -> None:
    async with opened(clock=clock, rate_limit_read=2, rate_limit_mutation=1) as running:
        reads = [await running.client.get("/v1/trial/whoami") for _ in range(3)]
        searched = await running.client.post("/v1/trial/search", json={"text": "x"})
        written = [await running.client.post("/v1/trial/echo", json={"text": "x"}) for _ in range(2)]
        health = await running.client.get("/health")
        clock.advance(timedelta(seconds=int(reads[2].headers["retry-after"])))
        again = await running.client.get("/v1/trial/whoami")

    assert [one.status_code for one in reads] == [200, 200, 429]
    assert reads[2].json()["error"]["code"] == "rate_limit_exceeded"
    assert searched.status_code == 429
    assert [one.status_code for one in written] == [200, 429]
    assert (health.status_code, again.status_code) == (200, 200)


async def test_the_same_request_has_the_same_fingerprint_and_another_has_another(running: InProcess) -> None:
    async def asked(text: str, path: str = "/v1/trial/echo") -> str:
        answer = await running.client.post(path, json={"text": text}, headers={"Idempotency-Key": "k"})
        return answer.json()["once"]

    first = await asked("a")

    assert first == await asked("a")
    assert (
        len({first, await asked("b"), await asked("a", "/v1/trial/echo?x=1"), await asked("a", "/api/trial/echo")}) == 4
    )


@pytest.mark.parametrize("key", ["", "x" * 256, "\x7f"])
async def test_an_idempotency_key_has_a_form(running: InProcess, key: str) -> None:
    answer = await running.client.post("/v1/trial/echo", json={"text": "a"}, headers={"Idempotency-Key": key})

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_input")
