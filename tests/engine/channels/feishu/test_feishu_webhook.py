"""The webhook, over its own port: what Feishu signs and encrypts is taken once, and nothing else is."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.channels.feishu.conftest import WEBHOOK, Line

from commonplace.channels.connection import Connection
from commonplace.channels.feishu.api import FeishuApi
from commonplace.channels.feishu.channel import FeishuChannel
from commonplace.channels.feishu.crypto import encrypted, signature_of
from commonplace.channels.feishu.intake import FeishuIntake
from commonplace.channels.feishu.options import FeishuOptions
from commonplace.channels.feishu.webhook import MAX_BODY, FeishuWebhook, WebhookRequest
from commonplace.channels.sent import SentMessages
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import until
from commonplace.testing.feishu import FeishuServer, card_press, chat_message
from commonplace.testing.feishu.server import ENCRYPT_KEY, SECRET, VERIFICATION_TOKEN, signed
from commonplace.testing.feishu.stories import APP

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> FeishuServer:
    """It tells of events, and is asked for nothing."""
    return FeishuServer()


class Door:
    """The port of the webhook. `now` in seconds, as Feishu says it."""

    def __init__(self, line: Line, channel: FeishuChannel) -> None:
        self.line = line
        self.channel = channel
        assert channel.listener is not None
        self.url = f"http://127.0.0.1:{channel.listener.port}/feishu"

    @property
    def now(self) -> int:
        return int(self.line.clock.now().timestamp())

    async def tell(self, event: dict[str, Any], **how: Any) -> httpx.Response:
        return await self.line.server.post(self.url, event, **{"timestamp": self.now, **how})

    async def post(self, body: bytes, headers: dict[str, str] | None = None, method: str = "POST") -> httpx.Response:
        async with httpx.AsyncClient() as client:
            return await client.request(method, self.url, content=body, headers=headers)

    async def raw(self, content: bytes) -> bytes:
        """Whatever it is, and what is answered to it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(self.url).port)
        writer.write(content)
        writer.write_eof()
        async with asyncio.timeout(5):
            answer = await reader.read()
        writer.close()
        return answer

    @property
    def events(self) -> list[str]:
        return [entry.event for entry in self.channel.log]


@asynccontextmanager
async def door(line: Line) -> AsyncGenerator[Door]:
    async with line.open(webhook=WEBHOOK) as channel:
        yield Door(line, channel)


async def test_a_message_is_handed_over_and_then_taken(line: Line) -> None:
    async with door(line) as webhook:
        answer = await webhook.tell(chat_message("早上好"))

    assert (answer.status_code, answer.json()) == (200, {})
    assert [(one.chat, one.sender, one.text) for one in line.desk.envelopes] == [("oc_room", "ou_ana", "早上好")]


async def test_a_press_is_answered_with_its_toast(line: Line) -> None:
    async with door(line) as webhook:
        answer = await webhook.tell(card_press({"action": "approve", "key": "r1-card"}, sender="ou_bob"))

    assert answer.json() == {"toast": {"type": "info", "content": "Thank you."}}
    assert [(press.sender, press.action) for press in line.desk.presses] == [("ou_bob", "approve")]


async def test_an_event_that_is_told_again_with_a_new_signature_is_done_once(line: Line) -> None:
    event = chat_message("Hello")
    async with door(line) as webhook:
        answers = [await webhook.tell(event, nonce=f"n{number}") for number in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert len(line.desk.envelopes) == 1


async def test_what_could_not_be_kept_is_taken_when_the_same_request_comes_again(line: Line) -> None:
    line.desk.failures = 1
    async with door(line) as webhook:
        body, headers = signed(chat_message("Hello"), timestamp=webhook.now)
        answers = [await webhook.post(body, headers) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [503, 200]
    assert [one.text for one in line.desk.envelopes] == ["Hello"]


# ---- who Feishu asks for


@pytest.mark.parametrize("is_encrypted", [True, False])
async def test_the_question_for_the_webhook_is_answered_with_what_it_brought(line: Line, is_encrypted: bool) -> None:
    question = {"type": "url_verification", "token": VERIFICATION_TOKEN, "challenge": "c-1"}
    text = json.dumps(question).encode()
    body = json.dumps({"encrypt": encrypted(text, ENCRYPT_KEY, bytes(16))}).encode() if is_encrypted else text
    async with door(line) as webhook:
        answer = await webhook.post(body)
        events = webhook.events

    assert (answer.status_code, answer.json()) == (200, {"challenge": "c-1"})
    assert "verified" in events


@pytest.mark.parametrize(
    "question",
    [
        {"token": "another", "challenge": "c-1"},
        {"token": "", "challenge": "c-1"},
        {"token": None, "challenge": "c-1"},
        {"token": [VERIFICATION_TOKEN], "challenge": "c-1"},
        {"challenge": "c-1"},
        {"token": VERIFICATION_TOKEN},
        {"token": VERIFICATION_TOKEN, "challenge": 7},
    ],
)
async def test_a_question_with_another_token_is_not_answered(line: Line, question: dict[str, Any]) -> None:
    async with door(line) as webhook:
        answer = await webhook.post(json.dumps({"type": "url_verification", **question}).encode())

    assert answer.status_code == 403
    assert "c-1" not in answer.text


async def test_a_question_is_no_way_for_an_event(line: Line) -> None:
    event = {**chat_message("Hello"), "type": "url_verification", "token": VERIFICATION_TOKEN, "challenge": "c-1"}
    async with door(line) as webhook:
        await webhook.post(json.dumps(event).encode())

    assert line.desk.envelopes == []


# ---- what is not Feishu's


@pytest.mark.parametrize(
    "how",
    [
        {"key": "another-key"},
        {"token": "another-token"},
        {"token": ""},
        {"X_Lark_Signature": ""},
        {"X_Lark_Signature": "0" * 64},
        {"X_Lark_Request_Nonce": "another"},
        {"X_Lark_Request_Timestamp": "1"},
    ],
)
async def test_what_is_forged_is_not_taken_and_all_of_it_is_answered_the_same(line: Line, how: dict[str, Any]) -> None:
    async with door(line) as webhook:
        answer = await webhook.tell(chat_message("Push it"), **how)
        events, log = webhook.events, str(webhook.channel.log)

    assert (answer.status_code, answer.json()) == (403, {"msg": "This is not from Feishu."})
    assert line.desk.envelopes == []
    assert "forbidden" in events
    assert not any(secret in log for secret in (ENCRYPT_KEY, VERIFICATION_TOKEN, SECRET))


async def test_a_signature_is_of_its_body(line: Line) -> None:
    async with door(line) as webhook:
        _, headers = signed(chat_message("Hello"), timestamp=webhook.now)
        body, _ = signed(chat_message("Push it"), timestamp=webhook.now)
        answer = await webhook.post(body, headers)

    assert (answer.status_code, line.desk.envelopes) == (403, [])


async def test_nothing_in_the_body_stands_for_a_header(line: Line) -> None:
    async with door(line) as webhook:
        body, right = signed(chat_message("Push it"), timestamp=webhook.now)
        document = {**json.loads(body), "headers": {**right, **{name.lower(): value for name, value in right.items()}}}
        answer = await webhook.post(json.dumps(document).encode())

    assert (answer.status_code, line.desk.envelopes) == (403, [])


async def test_an_event_that_is_signed_and_not_encrypted_is_not_taken(line: Line) -> None:
    event = chat_message("Push it")
    event["header"]["token"] = VERIFICATION_TOKEN
    body = json.dumps(event).encode()
    async with door(line) as webhook:
        _, headers = signed(event, timestamp=webhook.now)
        headers["X-Lark-Signature"] = signature_of(f"{webhook.now}", "nonce", ENCRYPT_KEY, body)
        answer = await webhook.post(body, headers)

    assert (answer.status_code, line.desk.envelopes) == (403, [])


async def test_a_request_that_was_taken_is_not_taken_again(line: Line) -> None:
    async with door(line) as webhook:
        body, headers = signed(chat_message("Hello"), timestamp=webhook.now)
        first = await webhook.post(body, headers)
        # By now it is forgotten which messages there were.
        line.clock.advance(timedelta(minutes=4, seconds=59))
        again = await webhook.post(body, headers)
        line.clock.advance(timedelta(minutes=6))
        later = await webhook.post(body, headers)

    assert [answer.status_code for answer in (first, again, later)] == [200, 403, 403]
    assert len(line.desk.envelopes) == 1


@pytest.mark.parametrize(("age", "status"), [(0, 200), (299, 200), (301, 403), (-299, 200), (-301, 403)])
async def test_a_signature_has_an_age(line: Line, age: int, status: int) -> None:
    async with door(line) as webhook:
        answer = await webhook.tell(chat_message("Hello"), timestamp=webhook.now - age)

    assert answer.status_code == status
    assert len(line.desk.envelopes) == (1 if status == 200 else 0)


@pytest.mark.parametrize("timestamp", ["", "now", "-1", "1e9", "9" * 40, "１７６７２２５６００"])
async def test_a_time_that_is_none_is_not_taken(line: Line, timestamp: str) -> None:
    async with door(line) as webhook:
        body, headers = signed(chat_message("Hello"))
        said = timestamp.encode().decode("latin-1")
        headers["X-Lark-Request-Timestamp"] = said
        headers["X-Lark-Signature"] = signature_of(said, "nonce", ENCRYPT_KEY, body)
        encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        async with httpx.AsyncClient() as client:
            answer = await client.post(webhook.url, content=body, headers=encoded)

    assert (answer.status_code, line.desk.envelopes) == (403, [])


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"encrypt": 7}', b'{"encrypt": "!"}', b"[" * 50_000, b"9" * 5_000]
    + [json.dumps({"encrypt": encrypted(text, ENCRYPT_KEY, bytes(16))}).encode() for text in (b"", b"[]", b"\xff")],
)
async def test_garbage_is_not_taken_and_the_next_request_is(line: Line, body: bytes) -> None:
    async with door(line) as webhook:
        signature = signature_of(f"{webhook.now}", "nonce", ENCRYPT_KEY, body)
        headers = {"X-Lark-Request-Timestamp": f"{webhook.now}", "X-Lark-Request-Nonce": "nonce"}
        garbage = await webhook.post(body, {**headers, "X-Lark-Signature": signature})
        answer = await webhook.tell(chat_message("Still here"))

    assert (garbage.status_code, answer.status_code) == (403, 200)
    assert [one.text for one in line.desk.envelopes] == ["Still here"]


@pytest.mark.parametrize("event", [{}, {"header": {"event_type": "im.message.receive_v1"}, "event": {}}])
async def test_an_event_that_cannot_be_read_is_not_asked_for_again(line: Line, event: dict[str, Any]) -> None:
    event = {**event, "header": {**event.get("header", {})}}
    async with door(line) as webhook:
        body, headers = signed(event, timestamp=webhook.now)
        answer = await webhook.post(body, headers)
        events = webhook.events

    assert (answer.status_code, line.desk.envelopes) == (200, [])
    assert "malformed" in events


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.data())
async def test_a_request_with_a_byte_changed_is_never_taken(line: Line, data: st.DataObject) -> None:
    options = FeishuOptions(app_id=APP, app_secret=SECRET, webhook=WEBHOOK)
    clock = FakeClock()
    connection = Connection("team", clock)
    intake = FeishuIntake("team", APP, FeishuApi(options, clock), SentMessages(), clock, connection)
    line.desk.envelopes.clear()
    intake.inbox = line.desk
    webhook = FeishuWebhook(WEBHOOK, intake, connection, clock)
    body, right = signed(chat_message("Push it"), timestamp=int(clock.now().timestamp()))
    headers = {name.lower(): value for name, value in right.items() if name.startswith("X-")}
    part = data.draw(st.sampled_from(["body", *headers]))
    content = bytearray(body if part == "body" else headers[part].encode())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    if part == "body":
        body = bytes(content)
    else:
        headers[part] = content.decode("latin-1")

    answer = await webhook.answer(WebhookRequest(method="POST", headers=headers, body=body))
    await intake.aclose()

    assert (answer.status, line.desk.envelopes) == (HTTPStatus.FORBIDDEN, [])


# ---- what is hardly HTTP


@pytest.mark.parametrize(("method", "status"), [("GET", 200), ("HEAD", 200), ("PUT", 405), ("DELETE", 405)])
async def test_only_a_post_says_something(line: Line, method: str, status: int) -> None:
    async with door(line) as webhook:
        body, headers = signed(chat_message("Hello"), timestamp=webhook.now)
        answer = await webhook.post(body, headers, method)

    assert (answer.status_code, line.desk.envelopes) == (status, [])


@pytest.mark.parametrize("is_chunked", [True, False])
async def test_a_body_that_is_too_large_is_refused(line: Line, is_chunked: bool) -> None:
    async def chunks() -> AsyncGenerator[bytes]:
        for _ in range(17):
            yield bytes(MAX_BODY >> 4)

    async with door(line) as webhook, httpx.AsyncClient() as client:
        content = chunks() if is_chunked else bytes(MAX_BODY + 1)
        too_large = await client.post(webhook.url, content=content)
        largest = await client.post(webhook.url, content=bytes(MAX_BODY))

    assert (too_large.status_code, largest.status_code) == (413, 403)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01", b"400"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf", b"400"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ten\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", b"413"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", b"400"),
        (b"x" * 20_000, b"400"),
    ],
)
async def test_half_a_request_and_no_request_harm_nobody(line: Line, content: bytes, status: bytes) -> None:
    async with door(line) as webhook:
        first = (await webhook.raw(content)).split(b" ")
        answer = await webhook.tell(chat_message("Still here"))

    assert first[:2] == [b"HTTP/1.1", status]
    assert answer.status_code == 200


async def test_whoever_hangs_up_in_the_middle_leaves_nothing_behind(line: Line) -> None:
    async with door(line) as webhook:
        for content in (b"", b"POST /", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nha"):
            _, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(webhook.url).port)
            writer.write(content)
            writer.transport.abort()
        answer = await webhook.tell(chat_message("Still here"))

    assert answer.status_code == 200


async def test_a_port_that_is_taken_is_said(line: Line) -> None:
    async with door(line) as first:
        port = httpx.URL(first.url).port
        assert port is not None
        second = line.channel(webhook=replace(WEBHOOK, port=port))
        async with second.connect(line.desk):
            await until(lambda: second.connection.status == "waiting")
            error = second.connection.error or ""

    assert f"{port}" in error
    assert "webhook_port" in error


async def test_nobody_listens_when_the_channel_is_stopped(line: Line) -> None:
    async with door(line) as webhook:
        pass

    with pytest.raises(httpx.ConnectError):
        await webhook.post(b"{}")


async def test_no_secret_is_shown_or_logged(line: Line, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with door(line) as webhook:
            await webhook.tell(chat_message("Hello"))
            await webhook.tell(chat_message("Hello"), token="another")
            text = f"{webhook.channel.connection} {webhook.channel.log} {WEBHOOK}"

    assert not any(secret in text + caplog.text for secret in (ENCRYPT_KEY, VERIFICATION_TOKEN, SECRET))
