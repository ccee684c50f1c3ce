"""The client without an event loop, against a daemon in a process of its own."""

import io
import threading
from pathlib import Path

import pytest

from commonplace import Client, Note
from commonplace.errors import DaemonUnavailable, Forbidden, PathNotFound, RecordChanged
from commonplace.testing.daemon import Daemon
from commonplace.values.event import Heard


@pytest.fixture
def client(daemon: Daemon, request: pytest.FixtureRequest) -> Client:
    """The operator, in a tenant of this test's own."""
    return Client(daemon.url, daemon.token, f"test/{abs(hash(request.node.name))}", "test-client", 10.0)


def test_a_memory_is_kept_found_changed_and_explained(client: Client) -> None:
    with client:
        record = client.put("We ship on Fridays", scope="workspace:web")
        [hit] = client.search("when do we ship?")
        edited = client.edit(record.id, text="We ship on Mondays", expected=1)
        with pytest.raises(RecordChanged):
            client.edit(record.id, text="Never", expected=1)

        assert (hit.record, "ship" in hit.why.words) == (record, True)
        assert [one.text for one in client.history(record.id)] == [record.text, edited.text]
        assert client.list(limit=5).records == (edited,)


def test_the_token_is_found_where_the_daemon_keeps_it(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", str(daemon.home))

    with Client(daemon.url) as client:
        assert client.me().operator


def test_a_folder_is_imported_by_the_daemon(client: Client, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for number in range(3):
        (tmp_path / "notes" / f"{number}.md").write_text(f"# Note {number}\n\nText {number}", encoding="utf-8")

    with client:
        first = client.import_folder(tmp_path / "notes", scope="workspace:web")
        again = client.import_folder(tmp_path / "notes", scope="workspace:web")

        assert (first.indexed_files, first.errors, again.indexed_files, again.skipped_files) == (3, 0, 0, 3)
        assert len(client.list(scopes="workspace:web").records) == 3


def test_an_import_that_fails_says_why(client: Client, daemon: Daemon, tmp_path: Path) -> None:
    with client:
        with pytest.raises(PathNotFound):
            client.import_folder(tmp_path / "missing")
        _, secret = client.create_key("w", "writer")
    with Client(daemon.url, secret) as writer, pytest.raises(Forbidden):
        writer.import_folder(tmp_path)


def test_an_export_goes_out_and_in_again(client: Client, tmp_path: Path) -> None:
    with client:
        client.put_many([Note(text=f"Note {number} 二") for number in range(700)])
        stream = io.StringIO()

        written = client.export(tmp_path / "memory.jsonl")
        streamed = client.export(stream)
        client.purge(source="manual")
        loaded = client.load(tmp_path / "memory.jsonl")
        again = client.load(io.StringIO(stream.getvalue()))

    assert (written, streamed, loaded.created, again.unchanged) == (700, 700, 700, 700)


def test_a_listener_hears_what_others_write(client: Client, daemon: Daemon) -> None:
    heard: list[Heard] = []

    def listen() -> None:
        # From the beginning, so that nothing is missed.
        for event in client.events(types=["record.created", "record.deleted"], after=0):
            heard.append(event)
            if len([one for one in heard if one.id is not None]) >= 2:
                return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    record = client.put("Heard", scope="workspace:web")
    client.delete(record.id)
    listener.join(timeout=5)

    events = [one for one in heard if one.id is not None]
    assert [event.type for event in events] == ["record.created", "record.deleted"]
    assert ([event.data["id"] for event in events], str(events[0].scope)) == ([record.id] * 2, "workspace:web")
    assert events[0].client == "test-client"
    client.close()


def test_nobody_at_the_address_is_told() -> None:
    with Client("http://127.0.0.1:9", "token") as client, pytest.raises(DaemonUnavailable):
        client.stats()
