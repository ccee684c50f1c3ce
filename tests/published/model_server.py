"""
A model for other people's agents, on this machine: it speaks OpenAI's chat completions and responses, streamed or not.

It keeps nothing between two requests, so that an agent may ask for titles and summaries besides. What it says follows from what it is
sent: a result of a tool is repeated; `@@CALL name {arguments}@@` in the person's words is a call of that tool (or of the one whose name ends
so), if there is one; `@@SLOW@@` is a text that has no end; everything else is answered with `I heard you.`
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, cast
from uuid import uuid4

INPUT_TOKENS, OUTPUT_TOKENS = 100, 7
HEARD = "I heard you."
_CALL = re.compile(r"@@CALL (\S+) (\{.*?\})@@", re.DOTALL)
_PIECES = 400
_PAUSE = 0.05


@dataclass(frozen=True)
class Said:
    """What the model answers: a text, or a call."""

    text: str = ""
    call: tuple[str, str] | None = None
    slow: bool = False


@dataclass
class ModelServer:
    """`url` is what an agent is given, `requests` are the bodies that came, `fault` is an answer for all of them: a status and a body."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    stop: Event = field(default_factory=Event)


def answer(words: list[tuple[str, str]], tools: list[str]) -> Said:
    """`words` are what was said so far, by whom; a tool's result is `tool`'s."""
    who, last = words[-1] if words else ("user", "")
    if who == "tool":
        return Said(f"Done: tool answered <<{last[:200]}>>")
    of_person = _latest(words) or last
    if "@@SLOW@@" in of_person and tools:
        return Said("slowly ", slow=True)
    if call := _CALL.search(of_person):
        name = next(
            (tool for tool in tools if tool == call[1] or (call[1][0] == "~" and tool.endswith(call[1][1:]))), None
        )
        if name is not None:
            return Said("I will call a tool. ", (name, call[2]))
    return Said(HEARD)


def _latest(words: list[tuple[str, str]]) -> str | None:
    """The person's last words: behind the model's own, and not what an agent adds to them. A question has no call in it."""
    for who, text in reversed(words):
        if who != "user":
            return None
        if "@@" in text or text.rstrip().endswith("?"):
            return text
    return None


@contextmanager
def model_server() -> Generator[ModelServer]:
    """Until the block ends."""
    state = ModelServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._whole({"object": "list", "data": [{"id": "fake-model", "object": "model"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            state.requests.append({"path": self.path, **body})
            is_chat = self.path.endswith("/chat/completions")
            said = answer(chat_words(body), chat_tools(body)) if is_chat else answer(item_words(body), item_tools(body))
            if not body.get("stream"):
                self._whole(chat_whole(said) if is_chat else response_of(said)[-1])
                return
            with suppress(ConnectionError):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                for frame in chat_frames(said, state.stop) if is_chat else response_frames(said, state.stop):
                    self.wfile.write(frame)
                    self.wfile.flush()
            self.close_connection = True

        def _whole(self, document: Any) -> None:
            data = json.dumps(document).encode()
            with suppress(ConnectionError):
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library calls it
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.stop.set()
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


def text_of(content: Any) -> str:
    """The words in a message's content, whichever form it has."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(map(text_of, cast(list[Any], content)))
    parts = cast(dict[str, Any], content) if isinstance(content, dict) else {}
    return text_of(parts.get("text") or parts.get("content") or parts.get("output")) if parts else ""


def pieces(said: Said, stop: Event) -> Iterator[str]:
    if not said.slow:
        yield from re.findall(r"\S+\s*", said.text)
        return
    for _ in range(_PIECES):
        yield said.text
        if stop.wait(_PAUSE):
            return


def frame(document: Any, event: str | None = None) -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(document)}\n\n".encode()


# ---- chat completions


def chat_words(body: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (message["role"], text_of(message.get("content")))
        for message in body.get("messages", ())
        if message["role"] != "system"
    ]


def chat_tools(body: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools") or () if "function" in tool]


def chat_usage() -> dict[str, Any]:
    return {
        "prompt_tokens": INPUT_TOKENS,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        "prompt_tokens_details": {"cached_tokens": 40},
    }


def chat_call(said: Said) -> list[dict[str, Any]]:
    if said.call is None:
        return []
    function = {"name": said.call[0], "arguments": said.call[1]}
    return [{"index": 0, "id": f"call_{uuid4().hex[:12]}", "type": "function", "function": function}]


def chat_whole(said: Said) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.call:
        message["tool_calls"] = chat_call(said)
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if said.call else "stop"}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "fake-model",
        "choices": [choice],
        "usage": chat_usage(),
    }


def chat_frames(said: Said, stop: Event) -> Iterator[bytes]:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake-model"}

    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        return frame({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(said, stop):
        yield chunk({"content": piece})
    if said.call:
        yield chunk({"tool_calls": chat_call(said)})
    yield chunk({}, "tool_calls" if said.call else "stop")
    yield frame({**head, "choices": [], "usage": chat_usage()})
    yield b"data: [DONE]\n\n"


# ---- responses


def item_words(body: dict[str, Any]) -> list[tuple[str, str]]:
    items: list[dict[str, Any]] = body.get("input") or []
    if isinstance(items, str):
        return [("user", items)]
    words: list[tuple[str, str]] = []
    for item in items:
        if item.get("type", "message") == "message" and item.get("role") in ("user", "assistant"):
            words.append((item["role"], text_of(item.get("content"))))
        elif str(item.get("type")).endswith("_output"):
            words.append(("tool", text_of(item.get("output"))))
    return words


def item_tools(body: dict[str, Any]) -> list[str]:
    """Those of a namespace behind its name and a slash."""
    names: list[str] = []
    for tool in body.get("tools") or ():
        if tool.get("type") == "namespace":
            names += [f"{tool['name']}/{inner['name']}" for inner in tool["tools"]]
        elif "name" in tool:
            names.append(tool["name"])
    return names


def response_of(said: Said) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The items of an answer, and the whole of it."""
    id_ = f"resp_{uuid4().hex[:12]}"
    content: list[dict[str, Any]] = [{"type": "output_text", "text": said.text, "annotations": []}]
    items: list[dict[str, Any]] = [
        {
            "type": "message",
            "id": f"msg_{uuid4().hex[:12]}",
            "status": "completed",
            "role": "assistant",
            "content": content,
        }
    ]
    if said.call:
        namespace, _, name = said.call[0].rpartition("/")
        call = {"name": name, "arguments": said.call[1], "call_id": f"call_{uuid4().hex[:12]}"}
        call |= {"namespace": namespace} if namespace else {}
        items.append({"type": "function_call", "id": f"fc_{uuid4().hex[:12]}", "status": "completed", **call})
    usage = {
        "input_tokens": INPUT_TOKENS,
        "input_tokens_details": {"cached_tokens": 40},
        "output_tokens": OUTPUT_TOKENS,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    }
    whole = {
        "id": id_,
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "fake-model",
        "output": items,
        "usage": usage,
    }
    return items, whole


def response_frames(said: Said, stop: Event) -> Iterator[bytes]:
    items, whole = response_of(said)
    number = 0

    def event(kind: str, **fields: Any) -> bytes:
        nonlocal number
        number += 1
        return frame({"type": kind, "sequence_number": number, **fields}, kind)

    yield event("response.created", response={**whole, "status": "in_progress", "output": [], "usage": None})
    for index, item in enumerate(items):
        yield event("response.output_item.added", output_index=index, item={**item, "status": "in_progress"})
        if item["type"] == "message":
            place = {"item_id": item["id"], "output_index": index, "content_index": 0}
            for piece in pieces(said, stop):
                yield event("response.output_text.delta", delta=piece, **place)
            yield event("response.output_text.done", text=said.text, **place)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=whole)
