"""The commands as a script calls them, with a model that streams."""

import json
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from commonplace.cli import app
from commonplace.testing.daemon import running_daemon
from commonplace.testing.vendor import Vendor, running_vendor, stream

WRITE = ("write_file", json.dumps({"path": "notes.md", "content": "We ship on Fridays\n"}))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Generator[Vendor]:
    with running_vendor() as begun:
        monkeypatch.setenv("COMMONPLACE_LLM_MODEL", "openai:small")
        monkeypatch.setenv("COMMONPLACE_LLM_BASE_URL", begun.url)
        monkeypatch.setenv("COMMONPLACE_LLM_API_KEY", "sk-test-0000")
        monkeypatch.setenv("COMMONPLACE_LLM_PRICE", "1/1")
        yield begun


def run(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, args, input=stdin, prog_name="commonplace")


@pytest.fixture(params=["here", "daemon"])
def place(request: pytest.FixtureRequest, home: Path, vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Without a daemon, or through one that has the model."""
    assert vendor.url
    if request.param == "here":
        yield request.param
        return
    with running_daemon(home) as daemon:
        monkeypatch.setenv("COMMONPLACE_URL", daemon.url)
        monkeypatch.setenv("COMMONPLACE_TOKEN", daemon.token)
        yield request.param


@pytest.mark.usefixtures("place")
def test_a_run_prints_its_events_and_continues(vendor: Vendor) -> None:
    vendor.replies = [stream("On ", "Fridays."), stream("At noon.")]

    first = run("run", "When do we ship?", "--json")
    second = run("run", "-", "--continue", stdin="At what time?\n")

    events = [json.loads(line) for line in first.stdout.splitlines()]
    assert (first.exit_code, second.exit_code) == (0, 0), first.stderr + second.stderr
    assert events[0]["type"] == "turn_started"
    assert "".join(event["text"] for event in events if event["type"] == "text") == "On Fridays."
    assert [event["type"] for event in events[-2:]] == ["turn_ended", "memory_learned"]
    assert second.stdout == "At noon.\n"
    assert "On Fridays." in json.dumps(vendor.requests[-1]["messages"])
    assert events[0]["session"] in second.stderr


def test_a_chat_in_a_pipe_is_plain_and_refuses_what_nobody_can_be_asked_about(vendor: Vendor, folder: Path) -> None:
    vendor.replies = [stream(calls=(WRITE,)), stream("**Not** done.")]

    done = run("chat", stdin="Write it down\n/quit\n")

    assert done.exit_code == 0, done.stderr
    assert "**Not** done." in done.stdout
    assert "\x1b" not in done.stdout
    assert not (folder / "notes.md").exists()


@pytest.mark.parametrize(
    ("args", "code", "is_written"),
    [((), 7, False), (("--deny",), 0, False), (("--allow-edits",), 0, True), (("--allow", "write_file:*"), 0, True)],
)
def test_a_run_changes_nothing_that_was_not_allowed(
    vendor: Vendor, folder: Path, args: tuple[str, ...], code: int, is_written: bool
) -> None:
    vendor.replies = [stream(calls=(WRITE,)), stream("Done.")]

    done = run("run", "Write it down", *args)

    assert (done.exit_code, done.stdout) == (code, "Done.\n"), done.stderr
    assert (folder / "notes.md").exists() is is_written


def test_a_run_that_takes_too_long_is_stopped(vendor: Vendor) -> None:
    vendor.replies = [stream("One, ", hang=True)]

    assert run("run", "Count", "--timeout", "0.5").exit_code == 124


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("run", "hi", "--session", "nowhere"), 3),
        (("run", "hi", "--continue"), 3),
        (("run", "hi", "--continue", "--session", "s"), 2),
        (("run", " "), 2),
        (("run", "hi", "--allow", "shell"), 2),
        (("run", "hi", "--folder", "nowhere"), 2),
        (("run", "hi", "--model", "openai:unknown"), 2),
        (("run", "hi", "--url", "http://127.0.0.1:9"), 5),
        (("chat", "--plan", "--auto-edit"), 2),
        (("chat", "--json"), 2),
    ],
)
def test_wrong_use_ends_with_its_code_and_no_traceback(args: tuple[str, ...], code: int) -> None:
    done = run(*args)

    assert done.exit_code == code, done.stderr
    assert isinstance(done.exception, SystemExit)
