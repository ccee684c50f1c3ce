"""
Write the client without an event loop (`commonplace.sdk.client`) from the one with (`commonplace.sdk.async_client`).

    python tools/sync_client.py           write the files
    python tools/sync_client.py --check   say which files are stale, and exit with 1

It works on tokens: `async` and `await` go, and the names of `NAMES` are replaced, also where a docstring or a comment mentions
them. `ruff` then sorts the imports and breaks the lines. A name that looks asynchronous and is not in the table is an error.
"""

import argparse
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from port_docs import with_docs

ROOT = Path(__file__).parent.parent
SDK = ROOT / "src" / "commonplace" / "sdk"
PORT = "from commonplace.ports.memory_client import "
PORTS = ("MemoryClient", "KnowledgeClient", "HistoryClient", "ArtifactClient", "RunClient")
FILES = {
    "async_connection.py": "connection.py",
    "async_knowledge.py": "knowledge.py",
    "async_rooms.py": "rooms.py",
    "async_runs.py": "runs.py",
    "async_schedules.py": "schedules.py",
    "async_catalog.py": "catalog.py",
    "async_history.py": "history.py",
    "async_agent.py": "agent.py",
    "async_client.py": "client.py",
}
HEADER = "# Generated from {source} by tools/sync_client.py. Do not edit: change that file, then run `make docs`.\n"

NAMES = {
    "AbstractAsyncContextManager": "AbstractContextManager",
    "AsyncAgent": "DaemonAgent",
    "AsyncBaseTransport": "BaseTransport",
    "AsyncDaemonArtifacts": "DaemonArtifacts",
    "AsyncDaemonCatalog": "DaemonCatalog",
    "AsyncClient": "Client",  # ours, and that of httpx
    "AsyncDaemonConnection": "DaemonConnection",
    "AsyncHistory": "DaemonHistory",
    "AsyncDaemonChannels": "DaemonChannels",
    "AsyncDaemonRooms": "DaemonRooms",
    "AsyncDaemonRuns": "DaemonRuns",
    "AsyncDaemonSchedules": "DaemonSchedules",
    "AsyncIterator": "Iterator",
    "AsyncKnowledge": "Knowledge",
    "AsyncMemory": "Memory",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "aclose": "close",
    "aiter_bytes": "iter_bytes",
    "aiter_sse": "iter_sse",
    "aread": "read",
    "async_agent": "agent",
    "async_call": "plain_call",
    "async_catalog": "catalog",
    "async_connection": "connection",
    "async_history": "history",
    "async_knowledge": "knowledge",
    "async_parts": "plain_parts",
    "async_rooms": "rooms",
    "async_runs": "runs",
    "async_schedules": "schedules",
    "asyncio": "time",  # for `sleep` alone
}
_WORD = re.compile(r"\w+")
_LOOKS_ASYNC = re.compile(r"async|await|__a(enter|exit|iter|next)__|^a(close|iter|next|read)(_|$)", re.IGNORECASE)

Edit = tuple[tuple[int, int], tuple[int, int], str]


class Untranslated(Exception):
    """A name has no synchronous counterpart in `NAMES`. Add it."""


def translate(text: str) -> str:
    """The source of a module with an event loop as one without, before it is formatted."""
    lines = text.splitlines(keepends=True)
    for (row, column), (end_row, end_column), new in reversed(list(_edits(text))):
        before, after = lines[row - 1][:column], lines[end_row - 1][end_column:]
        lines[row - 1 : end_row] = (before + new + after).splitlines(keepends=True)
    return "".join(lines)


def _edits(text: str) -> Iterator[Edit]:
    """What to replace, in the order of the text."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for token, following in pairwise(tokens):
        if token.type == tokenize.NAME and token.string in ("async", "await"):
            yield token.start, following.start, ""
        elif token.type == tokenize.NAME:
            new = NAMES.get(token.string, token.string)
            if _LOOKS_ASYNC.search(new):
                raise Untranslated(f"line {token.start[0]}: {token.string} has no synchronous name. Add it to NAMES.")
            yield token.start, token.end, new
        elif token.type in (tokenize.STRING, tokenize.COMMENT):
            yield token.start, token.end, _WORD.sub(lambda word: NAMES.get(word[0], word[0]), token.string)


def generate(name: str) -> str:
    """The file that belongs to the asynchronous one called `name`."""
    source = SDK / name
    text = with_docs(source.read_text(encoding="utf-8"))
    # The port is how a memory is used with an event loop.
    for port in PORTS:
        text = text.replace(f"({port}):", ":").replace(f", {port}):", "):").replace(f"{PORT}{port}\n", "")
    text = text.replace(f"{PORT}ArtifactClient, RunClient\n", "")
    text = text.replace("(AgentClient):", ":").replace("from commonplace.ports.agent_client import AgentClient\n", "")
    text = text.replace("(ScheduleClient):", ":")
    text = text.replace("from commonplace.ports.schedule_client import ScheduleClient\n", "")
    text = HEADER.format(source=name) + translate(text)
    target = str(SDK / FILES[name])
    text = _ruff(text, "check", "--fix-only", "--select", "I", "--stdin-filename", target, "-")
    return _ruff(text, "format", "--stdin-filename", target, "-")


def _ruff(text: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "ruff", *arguments, "--quiet"]
    run = subprocess.run(command, cwd=ROOT, input=text, capture_output=True, encoding="utf-8", check=True, timeout=60)
    return run.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the synchronous client, or check that it is up to date.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 if a file is stale")
    check = parser.parse_args().check

    stale: list[str] = []
    for name, target in FILES.items():
        text, path = generate(name), SDK / target
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.relative_to(ROOT).as_posix())
        if not check:
            path.write_text(text, encoding="utf-8")

    if stale:
        print(f"{'Stale, run `make docs`' if check else 'Written'}: {', '.join(stale)}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
