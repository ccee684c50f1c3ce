"""
Sessions of the agent for many listeners at once, over HTTP: how soon the first event follows a prompt, how late the events of a stream are and whether
any is missing while many sessions stream, what a session costs in memory; and how soon `commonplace acp` greets an editor.

Both doors are measured: the native one and that of qwen-code's clients. Beside them, in the same run, a bare FastAPI application echoes an event to
whoever listens and passes the same model's stream on, and published agents greet the same client. The model is a process of its own that
writes into each chunk when it was sent.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx

from bench.machine import ROOT, percentile
from bench.streams import resident
from commonplace.testing.daemon import Daemon, running_daemon

SESSIONS: Final = 50
A_SECOND: Final = 20
CHUNKS: Final = 200
PROMPTS: Final = 40
GREETINGS: Final = 7
LEFT_OUT: Final = """\
LEFT OUT: how soon `commonplace acp` greets an editor is not compared with qwen-code and gemini-cli, which are not installed here.
Run `make acceptance` once, then set COMMONPLACE_PUBLISHED to the folder that it named, and measure again."""
_PATIENCE: Final = 60.0
_SENT: Final = re.compile(rb"(\d{12,}) ")
_RELAY: Final = """
import asyncio, sys, httpx, uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
app = FastAPI()
client = httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=None))

@app.post("/relay")
async def relay() -> StreamingResponse:
    async def events():
        yield b"event: turn_started\\n\\n"
        async with client.stream("POST", sys.argv[2], json={"messages": []}) as answer:
            async for line in answer.aiter_lines():
                yield (line + "\\n").encode()
        yield b"event: turn_ended\\n\\n"
    return StreamingResponse(events(), media_type="text/event-stream")

listening = set()

@app.get("/events")
async def events() -> StreamingResponse:
    queue = asyncio.Queue()
    async def heard():
        listening.add(queue)
        try:
            yield b"retry: 3000\\n\\n"
            while True:
                yield await queue.get()
        finally:
            listening.discard(queue)
    return StreamingResponse(heard(), media_type="text/event-stream")

@app.post("/say", status_code=202)
async def say() -> dict[str, bool]:
    for queue in listening:
        queue.put_nowait(b"event: turn_started\\n\\nevent: turn_ended\\n\\n")
    return {"said": True}

uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Door:
    """How a session is begun, heard and spoken in. `{}` is its id, which the answer to `create` has under `id`."""

    name: str
    create: tuple[str, Mapping[str, Any]] | None
    id: str
    say: tuple[str, Mapping[str, Any]]
    events: str


NATIVE: Final = Door(
    name="/v1",
    create=("/v1/sessions", {"agent": "assistant"}),
    id="id",
    say=("/v1/sessions/{}/turns", {"text": "Go on."}),
    events="/v1/sessions/{}/events",
)
QWEN: Final = Door(
    name="/session",
    create=("/session", {"sessionScope": "thread"}),
    id="sessionId",
    say=("/session/{}/prompt", {"prompt": [{"type": "text", "text": "Go on."}]}),
    events="/session/{}/events",
)
ECHO: Final = Door(name="bare FastAPI echo", create=None, id="", say=("/say", {}), events="/events")
_ENDS: Final = (b"event: turn_ended", b"event: turn_complete")
_FAILURES: Final = (b"event: turn_failed", b"event: turn_error")


@dataclass(slots=True)
class Heard:
    """What one listener heard: how late each chunk was, in milliseconds, and when the first event came."""

    delays: list[float] = field(default_factory=list[float])
    first: float = 0.0
    is_over: bool = False

    def take(self, line: bytes) -> None:
        now = time.monotonic_ns()
        if line.startswith(b"event: "):
            self.first = self.first or now / 1e9
        if line.startswith(_FAILURES):
            raise RuntimeError("A turn failed; the daemon's log says why.")
        self.delays += [(now - int(sent)) / 1e6 for sent in _SENT.findall(line)]
        self.is_over = self.is_over or line.startswith(_ENDS)


# ---- many sessions that stream


def measure(sessions: int, chunks: int, prompts: int) -> list[dict[str, Any]]:
    """Rows for our daemon at each of its doors, and for the bare application."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        quick = stack.enter_context(_process(["-m", "bench.stream_model"], "1", "0"))
        steady = stack.enter_context(_process(["-m", "bench.stream_model"], str(chunks), str(1 / A_SECOND)))
        relay = stack.enter_context(_process(["-c", _RELAY], f"http://127.0.0.1:{steady}/v1/chat/completions"))
        rows: list[dict[str, Any]] = []
        with _daemon(folder / "one", quick) as daemon:
            rows += [
                {"way": f"daemon, one session, {door.name}", **asyncio.run(_prompted(_client(daemon), door, prompts))}
                for door in (NATIVE, QWEN)
            ]
        rows.append({"way": ECHO.name, **asyncio.run(_prompted(_bare(relay), ECHO, prompts))})
        for number, door in enumerate((NATIVE, QWEN)):
            way = f"daemon, {sessions} sessions, {door.name}"
            rows.append({"way": way, **_streamed(folder / f"many-{number}", steady, door, sessions, chunks)})
        return [
            *rows,
            {"way": f"bare relay, {sessions} streams", **asyncio.run(_relayed(relay, sessions, chunks))},
        ]


async def _prompted(client: httpx.AsyncClient, door: Door, prompts: int) -> dict[str, Any]:
    times: list[float] = []
    async with client:
        session = await _session(client, door)
        for _ in range(prompts):
            async with _listening(client, door, session) as lines:
                begin = time.monotonic()
                heard = asyncio.create_task(_hear(lines))
                await _say(client, door, session)
                times.append(((await heard).first - begin) * 1e3)
    times = times[prompts // 4 :]
    return {"first_event_p50_ms": _round(median(times)), "first_event_p95_ms": _round(percentile(times, 0.95))}


def _streamed(home: Path, port: int, door: Door, sessions: int, chunks: int) -> dict[str, Any]:
    with _daemon(home, port) as daemon:
        before, heard, after = asyncio.run(_all_at_once(daemon, door, sessions))
    return {
        **_delays(heard, chunks),
        "mb_a_session": _round((after - before) / sessions),
    }


async def _all_at_once(daemon: Daemon, door: Door, sessions: int) -> tuple[float, list[Heard], float]:
    async with _client(daemon) as client:
        # What talks to models is loaded with the first turn, once for all sessions.
        await _turn(client, door, await _session(client, door))
        ids = [await _session(client, door) for _ in range(sessions)]
        before = resident(daemon.process.pid)
        heard = await asyncio.gather(*(_turn(client, door, session) for session in ids))
        return before, list(heard), resident(daemon.process.pid)


async def _turn(client: httpx.AsyncClient, door: Door, session: str) -> Heard:
    async with _listening(client, door, session) as lines:
        heard = asyncio.create_task(_hear(lines))
        await _say(client, door, session)
        return await heard


async def _relayed(port: int, streams: int, chunks: int) -> dict[str, Any]:
    async def listen(client: httpx.AsyncClient) -> Heard:
        async with client.stream("POST", "/relay") as answer:
            return await _hear(_lines(answer))

    async with _bare(port) as client:
        await listen(client)
        return _delays(await asyncio.gather(*(listen(client) for _ in range(streams))), chunks)


def _delays(heard: Sequence[Heard], chunks: int) -> dict[str, Any]:
    delays = [delay for listener in heard for delay in listener.delays]
    return {
        "events": len(delays),
        "missing": len(heard) * chunks - len(delays),
        "delay_p50_ms": _round(median(delays)),
        "delay_p95_ms": _round(percentile(delays, 0.95)),
    }


_LIMITS: Final = httpx.Limits(max_connections=None, max_keepalive_connections=None)


@contextmanager
def _daemon(home: Path, port: int) -> Generator[Daemon]:
    environment = {
        "COMMONPLACE_LLM_MODEL": "openai:steady",
        "COMMONPLACE_LLM_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "COMMONPLACE_LLM_API_KEY": "none",
        "COMMONPLACE_AGENT_LEARN": "false",
        # Each turn reserves what it may cost at most, before it begins.
        "COMMONPLACE_LLM_CHAT_BUDGET_USD": "1000",
    }
    home.mkdir(mode=0o700)
    with running_daemon(home, "--workspace", str(home), env=environment) as daemon:
        yield daemon


def _client(daemon: Daemon) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {daemon.token}"}
    return httpx.AsyncClient(base_url=daemon.url, headers=headers, timeout=_PATIENCE, limits=_LIMITS)


def _bare(port: int) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=_PATIENCE, limits=_LIMITS)


async def _session(client: httpx.AsyncClient, door: Door) -> str:
    if door.create is None:
        return ""
    path, body = door.create
    return (await client.post(path, json=body)).raise_for_status().json()[door.id]


async def _say(client: httpx.AsyncClient, door: Door, session: str) -> None:
    path, body = door.say
    (await client.post(path.format(session), json=body)).raise_for_status()


@asynccontextmanager
async def _listening(client: httpx.AsyncClient, door: Door, session: str) -> AsyncGenerator[AsyncGenerator[bytes]]:
    async with client.stream("GET", door.events.format(session)) as answer:
        answer.raise_for_status()
        lines = _lines(answer)
        # The stream has begun: what is said from now on is heard.
        await anext(lines)
        yield lines


async def _lines(answer: httpx.Response) -> AsyncGenerator[bytes]:
    """Without decoding: a client in Python is to cost as little as it can."""
    rest = b""
    async for piece in answer.aiter_raw():
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line:
                yield line


async def _hear(lines: AsyncGenerator[bytes]) -> Heard:
    heard = Heard()
    async with asyncio.timeout(_PATIENCE):
        async for line in lines:
            heard.take(line)
            if heard.is_over:
                return heard
    raise RuntimeError("The stream ended before the turn did.")


@contextmanager
def _process(program: Sequence[str], *arguments: str) -> Generator[int]:
    """A server in a process of its own, on a port that it is given first."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, *program, str(port), *arguments], cwd=ROOT)
    try:
        deadline = time.monotonic() + _PATIENCE
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{program[-1][:40]} does not answer.")
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=5)


def _round(value: float) -> float:
    return round(value, 2)


# ---- how soon an agent greets


def greetings(published: Path | None, times: int = GREETINGS) -> list[dict[str, Any]]:
    """From the start of a process to its answer to `initialize`, taking turns: our agent, and published ones if they are installed."""
    commands = {"commonplace acp": [str(Path(sys.executable).with_name("commonplace")), "acp"]}
    if published is not None:
        programs = published / "node_modules" / ".bin"
        commands["qwen-code"] = [str(programs / "qwen"), "--acp", "--approval-mode", "default"]
        commands["gemini-cli"] = [str(programs / "gemini"), "--acp"]
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        homes = {name: Path(folder, str(number)) for number, name in enumerate(commands)}
        for home in homes.values():
            home.mkdir()
        for _ in range(times + 1):
            for name, command in commands.items():
                seconds[name].append(_greeting(command, _environment(homes[name], published)))
    medians = {name: median(values[1:]) for name, values in seconds.items()}
    ours = medians["commonplace acp"]
    return [
        {"agent": name, "initialize_ms": _round(value * 1e3), "ours_to_this": round(ours / value, 3)}
        for name, value in medians.items()
    ]


def _environment(home: Path, published: Path | None) -> Mapping[str, str]:
    path = os.environ["PATH"]
    if published is not None:
        path = f"{published / 'node_modules' / '.bin'}{os.pathsep}{path}"
    keys = {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "OPENAI_MODEL": "none",
        "GEMINI_API_KEY": "none",
    }
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", **keys}


def _greeting(command: Sequence[str], environment: Mapping[str, str]) -> float:
    request: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": 1, "clientCapabilities": {}},
    }
    begin = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=environment["HOME"],
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write((json.dumps(request) + "\n").encode())
        process.stdin.flush()
        for line in process.stdout:
            if line.startswith(b"{") and json.loads(line).get("id") == 1:
                return time.perf_counter() - begin
        raise RuntimeError(f"{command[0]} has not answered.")
    finally:
        process.stdin.close()
        os.killpg(process.pid, 9)
        process.wait(timeout=5)


def published_folder() -> Path | None:
    """Where `make acceptance` has put the published agents; None: nowhere."""
    named = os.environ.get("COMMONPLACE_PUBLISHED")
    return Path(named) if named and shutil.which("qwen", path=str(Path(named, "node_modules", ".bin"))) else None
