"""The parts beneath a channel of Feishu: how it is encrypted, who owns the token, what is done once, what settings are good for."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from commonplace.channels.feishu.crypto import decrypted, encrypted, signature_of
from commonplace.channels.feishu.options import FeishuOptions, WebhookOptions, read_options
from commonplace.channels.feishu.recent import Answer, RecentWork
from commonplace.channels.feishu.token import TenantToken
from commonplace.channels.guides.feishu import FEISHU
from commonplace.errors import InvalidInput
from commonplace.testing.clock import FakeClock
from commonplace.values.channel import ChannelSettings, PlatformError, PlatformRefused

pytestmark = pytest.mark.anyio

KEYS = st.text(min_size=1, max_size=40)
IVS = st.binary(min_size=16, max_size=16)


# ---- how Feishu signs and encrypts


def test_what_feishus_own_documentation_encrypts_is_read() -> None:
    assert decrypted("P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=", "test key") == b"hello world"


@given(st.binary(max_size=200), KEYS, IVS)
def test_what_is_encrypted_is_read_with_its_key(text: bytes, key: str, iv: bytes) -> None:
    assert decrypted(encrypted(text, key, iv), key) == text


@given(st.binary(max_size=200), KEYS, KEYS, IVS)
def test_another_key_reads_something_else_or_nothing(text: bytes, key: str, other: str, iv: bytes) -> None:
    if key == other:
        return
    with suppress(ValueError):
        assert decrypted(encrypted(text, key, iv), other) != text or not text


@given(st.text() | st.binary(max_size=100).map(lambda content: content.hex()), KEYS)
def test_a_text_of_any_kind_is_read_or_an_error_of_value(text: str, key: str) -> None:
    with suppress(ValueError):
        assert isinstance(decrypted(text, key), bytes)


@given(st.lists(st.text(), min_size=4, max_size=4, unique=True), st.binary(max_size=50))
def test_a_signature_is_of_its_time_its_nonce_its_key_and_its_body(words: list[str], body: bytes) -> None:
    time, nonce, key, other = words
    right = signature_of(time, nonce, key, body)

    assert right == signature_of(time, nonce, key, body)
    assert right != signature_of(time, nonce, key, body + b" ")
    if len(other) == len(key):
        assert right != signature_of(time, nonce, other, body)


# ---- what is done once


@pytest.fixture
async def recent() -> AsyncGenerator[tuple[RecentWork, FakeClock]]:
    clock = FakeClock()
    work = RecentWork(clock)
    yield work, clock
    await work.aclose()


def counted(counts: Counter[str], key: str, outcome: BaseException | None = None) -> Callable[[], Any]:
    async def work() -> Answer:
        counts[key] += 1
        if outcome is not None:
            raise outcome
        return {"key": key}

    return work


async def test_work_is_done_once_however_often_and_how_early_it_is_brought(
    recent: tuple[RecentWork, FakeClock],
) -> None:
    work, _ = recent
    counts = Counter[str]()
    answers = await asyncio.gather(*(work.begin("e", counted(counts, "e")) for _ in range(5)))
    answers.append(await work.begin("e", counted(counts, "e")))

    assert (counts["e"], answers) == (1, [{"key": "e"}] * 6)


async def test_work_that_failed_is_done_when_it_is_brought_again(recent: tuple[RecentWork, FakeClock]) -> None:
    work, _ = recent
    counts = Counter[str]()
    with pytest.raises(PlatformError):
        await work.begin("e", counted(counts, "e", PlatformError("The store is busy.")))
    # It is forgotten with the next turn of the loop.
    await asyncio.sleep(0)

    assert await work.begin("e", counted(counts, "e")) == {"key": "e"}
    assert counts["e"] == 2


async def test_work_is_forgotten_after_its_time_unless_it_is_still_done(recent: tuple[RecentWork, FakeClock]) -> None:
    work, clock = recent
    counts, go_on = Counter[str](), asyncio.Event()

    async def slow() -> Answer:
        await go_on.wait()
        return {"slow": True}

    first = work.begin("slow", slow)
    await work.begin("quick", counted(counts, "quick"))
    clock.advance(timedelta(minutes=5, seconds=1))
    await work.begin("quick", counted(counts, "quick"))
    again = work.begin("slow", counted(counts, "slow"))
    go_on.set()

    assert await first == await again == {"slow": True}
    assert counts == {"quick": 2}


async def test_whoever_closes_ends_what_is_still_done() -> None:
    work = RecentWork(FakeClock())
    task = work.begin("e", asyncio.Event().wait)  # pyright: ignore[reportArgumentType] - it never ends
    await asyncio.sleep(0)
    await work.aclose()

    assert task.cancelled()


class Memory(RuleBasedStateMachine):
    """What is brought within five minutes is done once, whatever else comes between."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = FakeClock()
        self.work = RecentWork(self.clock)
        self.counts = Counter[str]()
        self.expected = Counter[str]()
        self.done_at: dict[str, Any] = {}

    @rule(key=st.sampled_from("abc"), fails=st.booleans())
    def bring(self, key: str, fails: bool) -> None:
        now = self.clock.now()
        is_new = key not in self.done_at or now - self.done_at[key] > timedelta(minutes=5)
        self.loop.run_until_complete(self._bring(key, fails=fails))
        if is_new:
            self.expected[key] += 1
            if fails:
                self.done_at.pop(key, None)
            else:
                self.done_at[key] = now

    async def _bring(self, key: str, *, fails: bool) -> None:
        task = self.work.begin(key, counted(self.counts, key, PlatformError("No.") if fails else None))
        await asyncio.wait({task})
        with suppress(PlatformError):
            task.result()
        await asyncio.sleep(0)

    @precondition(lambda self: bool(self.done_at))
    @rule(seconds=st.sampled_from([1, 100, 299, 301]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(timedelta(seconds=seconds))

    @invariant()
    def is_done_as_often_as_it_should(self) -> None:
        assert self.counts == self.expected

    def teardown(self) -> None:
        self.loop.run_until_complete(self.work.aclose())
        self.loop.close()


TestMemory = Memory.TestCase


# ---- the token


OPTIONS = FeishuOptions(app_id="cli_test", app_secret="the-app-secret", server="https://feishu.example.org")


class TokenDesk:
    """Gives tokens, or what a test wishes. `gate` holds the answers back."""

    def __init__(self) -> None:
        self.calls = 0
        self.answer: Callable[[int], httpx.Response] = lambda number: httpx.Response(
            200, json={"code": 0, "tenant_access_token": f"t-{number}", "expire": 7_200}
        )
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.calls += 1
        number = self.calls
        assert json.loads(request.content) == {"app_id": "cli_test", "app_secret": "the-app-secret"}
        await self.gate.wait()
        return self.answer(number)


@pytest.fixture
async def desk_of_tokens() -> AsyncGenerator[tuple[TenantToken, TokenDesk, FakeClock]]:
    desk, clock = TokenDesk(), FakeClock()
    async with httpx.AsyncClient(base_url=OPTIONS.server, transport=httpx.MockTransport(desk)) as client:
        token = TenantToken(OPTIONS, client, clock)
        yield token, desk, clock
        await token.aclose()


Tokens = tuple[TenantToken, TokenDesk, FakeClock]


async def test_a_token_is_kept_until_a_minute_before_its_end(desk_of_tokens: Tokens) -> None:
    token, desk, clock = desk_of_tokens
    values = [await token.value()]
    clock.advance(timedelta(seconds=7_139))
    values.append(await token.value())
    clock.advance(timedelta(seconds=2))
    values.append(await token.value())

    assert values == ["t-1", "t-1", "t-2"]
    assert desk.calls == 2


async def test_a_token_whose_end_is_near_or_past_is_not_asked_for_without_end(desk_of_tokens: Tokens) -> None:
    token, desk, _ = desk_of_tokens
    desk.answer = lambda _: httpx.Response(200, json={"code": 0, "tenant_access_token": "t", "expire": -5})

    assert [await token.value() for _ in range(3)] == ["t"] * 3
    assert desk.calls == 1


async def test_one_who_goes_away_takes_the_token_from_nobody(desk_of_tokens: Tokens) -> None:
    token, desk, _ = desk_of_tokens
    desk.gate.clear()
    waiting = [asyncio.create_task(token.value()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    desk.gate.set()
    values = await asyncio.gather(*waiting, return_exceptions=True)

    assert isinstance(values[0], asyncio.CancelledError)
    assert values[1:] == ["t-1", "t-1"]
    assert desk.calls == 1


async def test_a_token_that_was_refused_late_takes_nothing_from_its_successor(desk_of_tokens: Tokens) -> None:
    token, desk, _ = desk_of_tokens
    first = await token.value()
    token.refuse(first)
    second = await token.value()
    token.refuse(first)

    assert (first, second, await token.value()) == ("t-1", "t-2", "t-2")
    assert desk.calls == 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(200, json={"code": 10003, "msg": "invalid param"}), PlatformRefused),
        (httpx.Response(200, json={"code": 10014, "msg": "the-app-secret is invalid"}), PlatformRefused),
        (httpx.Response(401, json={"code": 1}), PlatformRefused),
        (httpx.Response(200, json={"code": 99991400, "msg": "the-app-secret too often"}), PlatformError),
        (httpx.Response(200, json={"code": 0}), PlatformError),
        (httpx.Response(200, json={"code": 0, "tenant_access_token": 7}), PlatformError),
        (httpx.Response(502, text="<html>"), PlatformError),
        (httpx.Response(200, content=b"\xff"), PlatformError),
        (httpx.Response(200, json=[]), PlatformError),
    ],
)
async def test_no_token_is_an_error_without_the_secret_and_is_asked_for_again(
    desk_of_tokens: Tokens, answer: httpx.Response, error: type[PlatformError]
) -> None:
    token, desk, _ = desk_of_tokens
    good = desk.answer
    desk.answer = lambda _: answer
    with pytest.raises(PlatformError) as raised:
        await token.value()
    desk.answer = good

    assert type(raised.value) is error
    assert "the-app-secret" not in raised.value.message
    assert await token.value() == "t-2"


# ---- settings

WEBHOOK = {"mode": "webhook", "webhook_port": "4180"}
SECRETS = {"app_secret": "A_SECRET", "verification_token": "A_TOKEN", "encrypt_key": "A_KEY"}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SECRETS.values():
        monkeypatch.setenv(name, f"value of {name}")


def channel_settings(**options: str) -> ChannelSettings:
    return ChannelSettings(options={"app_id": "cli_test", **options}, secrets=SECRETS)


@pytest.mark.usefixtures("environment")
def test_settings_become_options_and_no_secret_is_shown() -> None:
    options = read_options(channel_settings(**WEBHOOK, domain="https://open.larksuite.com/", title="A" * 30))

    assert options.server == "https://open.larksuite.com"
    assert options.title == "A" * 20
    assert options.webhook == WebhookOptions(
        port=4180, verification_token="value of A_TOKEN", encrypt_key="value of A_KEY"
    )
    assert "value of" not in repr(options)
    assert options.without_secrets("value of A_KEY, value of A_SECRET") == "•••, •••"


@pytest.mark.usefixtures("environment")
def test_without_more_it_is_feishu_by_the_long_connection() -> None:
    options = read_options(channel_settings())

    assert (options.server, options.webhook) == ("https://open.feishu.cn", None)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    "address",
    [
        "http://open.feishu.cn",
        "https://",
        "https://a/b",
        "https://u@a",
        "https://a?b=c",
        "ftp://a",
        "feishu",
        "https://[a",
    ],
)
def test_the_secret_goes_to_no_address_that_is_not_safe(address: str) -> None:
    with pytest.raises(InvalidInput):
        read_options(channel_settings(domain=address))


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("port", ["", "0", "65536", "-1", "http", "４１８０", "9" * 5_000])
def test_a_webhook_has_a_port(port: str) -> None:
    with pytest.raises(InvalidInput):
        read_options(channel_settings(mode="webhook", webhook_port=port))


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("name", ["verification_token", "encrypt_key"])
def test_a_webhook_without_its_secrets_is_none(name: str) -> None:
    settings = channel_settings(**WEBHOOK)
    secrets = {key: place for key, place in SECRETS.items() if key != name}

    with pytest.raises(InvalidInput, match=name):
        read_options(replace(settings, secrets=secrets))


def test_the_guide_names_what_a_channel_is_given() -> None:
    fields = {field.name: field for field in FEISHU.fields}

    assert {name for name, field in fields.items() if field.secret} == set(SECRETS)
    assert {name for name, field in fields.items() if not field.secret} == {
        "app_id", "domain", "mode", "webhook_port", "webhook_host", "title",
    }  # fmt: skip
