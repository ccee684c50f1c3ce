"""
Texts that are made to keep a pattern busy (`tests/patterns` looks at each pattern alone), over HTTP to a real daemon: it
answers others while it reads, stores, recalls and imports them.
"""

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.testing.daemon import Daemon, running_daemon

SIZE = 100_000
"""One quadratic pattern takes minutes for as many characters, and holds the interpreter while it does."""
TEXTS = {
    "an unclosed mark": "<" + " " * SIZE + "x",
    "a mark again and again": "< / " * (SIZE // 4) + "x",
    "full stops": "Deploy on Friday" + "." * SIZE + "x",
    "quotes after a full stop": "Deploy on Friday." + "\"'" * (SIZE // 2) + "x",
    "half an instruction": "ignore all " * (SIZE // 11),
    "half a secret": "password " * (SIZE // 9),
    "lines": "deploy\n" + "\n" * SIZE + "x",
    "an action that never comes": "\n \t" * (SIZE // 3) + "x",
    # A tenth, since each sentence of a text in Chinese is read by a model.
    "chinese": "记住" * (SIZE // 20) + "。",
}
PROMPT = 10.0
"""Seconds for an answer of `/health`; half of what the first of these texts cost when it was a fifth as long."""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon") / "home") as running:
        yield running


@pytest.fixture
def http(daemon: Daemon) -> Generator[httpx.Client]:
    headers = {"Authorization": f"Bearer {daemon.token}"}
    with httpx.Client(base_url=daemon.url, headers=headers, timeout=60) as client:
        yield client


def meanwhile(daemon: Daemon, act: Callable[[], httpx.Response]) -> httpx.Response:
    """What `act` answers; the daemon told everybody else that it is well for as long as that took."""
    with ThreadPoolExecutor(1) as pool, httpx.Client(timeout=PROMPT) as other:
        answer: Future[httpx.Response] = pool.submit(act)
        while True:
            assert other.get(f"{daemon.url}/health").status_code == 200
            if answer.done():
                return answer.result()


@pytest.fixture(scope="module")
def user(daemon: Daemon) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {daemon.token}"}
    answer = httpx.post(f"{daemon.url}/users", json={"user_id": "ana"}, headers=headers, timeout=30).json()
    return {"user_id": "ana", "user_key": answer["user_key"]}


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", TEXTS)
def test_nobody_waits_while_a_chat_with_such_a_text_is_stored(
    daemon: Daemon, http: httpx.Client, user: dict[str, Any], name: str
) -> None:
    message = {"sender_id": "ana", "role": "user", "content": TEXTS[name], "timestamp": 1_767_225_600_000}
    body = {**user, "session_id": "chat:1", "messages": [message]}

    added = meanwhile(daemon, lambda: http.post("/memories/add", json=body))
    flushed = meanwhile(daemon, lambda: http.post("/memories/flush", json=body))

    assert (added.status_code, flushed.status_code) == (200, 200)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", TEXTS)
def test_nobody_waits_while_such_a_text_is_stored_and_recalled(daemon: Daemon, http: httpx.Client, name: str) -> None:
    scope = f"workspace:{name.replace(' ', '-')}"
    body = {"text": f"deploy {TEXTS[name]}", "scope": scope}

    stored = meanwhile(daemon, lambda: http.post("/v1/records", json=body))
    block = meanwhile(daemon, lambda: http.post("/v1/context", json={"query": "deploy", "scopes": [scope]}))
    question = {"text": f"deploy {TEXTS[name][:9_000]}", "scopes": [scope]}
    hits = meanwhile(daemon, lambda: http.post("/v1/search", json=question))

    assert (stored.status_code, block.status_code, hits.status_code) == (201, 200, 200)


@pytest.mark.timeout(240)
def test_nobody_waits_while_a_folder_of_such_texts_is_imported(
    daemon: Daemon, http: httpx.Client, tmp_path: Path
) -> None:
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    body = {"path": str(tmp_path), "scope": "workspace:imported"}

    queued = meanwhile(daemon, lambda: http.post("/v1/import", json=body))
    task = f"/v1/tasks/{queued.json()['job']['id']}"
    while (job := meanwhile(daemon, lambda: http.get(task, params={"wait": 20})).json())["result"] is None:
        assert job["state"] in ("queued", "running")

    assert job["result"]["files_processed"] == len(TEXTS)
