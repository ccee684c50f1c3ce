"""The chat and the run as processes: in this process or through a daemon, with the librarian or a model that streams."""

import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.doors.chat.at_terminal import CTRL_C, CTRL_D, PROMPT, AtTerminal, at_terminal

from commonplace.testing.daemon import running_daemon
from commonplace.testing.vendor import Vendor, running_vendor, stream

WRITE = ("write_file", json.dumps({"path": "notes.md", "content": "We ship on Fridays\n"}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        yield begun


@pytest.fixture
def model(vendor: Vendor) -> dict[str, str]:
    """The environment of a process that has this model."""
    return {
        "COMMONPLACE_LLM_MODEL": "openai:small",
        "COMMONPLACE_LLM_BASE_URL": vendor.url,
        "COMMONPLACE_LLM_API_KEY": "sk-test-0000",
        "COMMONPLACE_LLM_PRICE": "1/1",
    }


@pytest.fixture(params=["here", "daemon"])
def place(request: pytest.FixtureRequest, home: Path, model: dict[str, str]) -> Generator[dict[str, str]]:
    """The environment of a command that works without a daemon, or through one."""
    if request.param == "here":
        yield model
        return
    with running_daemon(home, env=model) as daemon:
        yield {"COMMONPLACE_URL": daemon.url, "COMMONPLACE_TOKEN": daemon.token}


def leave(terminal: AtTerminal) -> str:
    """The session that the chat names at its end."""
    terminal.until(PROMPT)
    terminal.type(CTRL_D)
    terminal.until("--session ")
    assert terminal.wait() == 0
    return terminal.shown.split("--session ")[-1].split()[0]


def test_a_chat_streams_asks_stops_within_two_seconds_and_goes_on(
    place: dict[str, str], vendor: Vendor, folder: Path
) -> None:
    vendor.replies = [
        stream("I write it down. ", calls=(WRITE,)),
        stream("It is **in", " notes.md**."),
        stream("One, two, ", hang=True),
        stream("I was counting."),
    ]

    with at_terminal("chat", cwd=folder, env=place) as terminal:
        terminal.until(PROMPT)
        terminal.type("Write down when we ship\n")
        question = terminal.until("n no › ")
        assert not (folder / "notes.md").exists()
        terminal.type("y\n")
        terminal.until("It is in notes.md.")
        terminal.until(PROMPT)
        terminal.type("Count\n")
        terminal.until("One, two,")
        terminal.type(CTRL_C)
        terminal.until("Stopped.", patience=2.0)
        terminal.until(PROMPT)
        terminal.type("What did you do?\n")
        terminal.until("I was counting.")
        leave(terminal)

    messages = json.dumps(vendor.requests[-1]["messages"])
    assert "+We ship on Fridays" in question
    assert (folder / "notes.md").read_text() == "We ship on Fridays\n"
    assert "One, two," in messages


def test_what_was_said_is_there_after_a_kill_and_the_chat_goes_on(
    model: dict[str, str], vendor: Vendor, folder: Path
) -> None:
    vendor.replies = [stream("Half of it ", hang=True), stream("The other half.")]
    with at_terminal("chat", cwd=folder, env=model) as terminal:
        terminal.until(PROMPT)
        terminal.type("Tell me all\n")
        terminal.until("Half of it")
        terminal.kill()

    with at_terminal("chat", "--continue", cwd=folder, env=model) as terminal:
        earlier = terminal.until("cut off")
        terminal.until(PROMPT)
        terminal.type("Go on\n")
        terminal.until("The other half.")
        leave(terminal)

    assert "Tell me all" in earlier


def test_the_librarian_answers_from_memory_and_a_later_chat_continues(folder: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "commonplace", "put", "The release train leaves on Fridays at noon", "-q"], check=True
    )

    with at_terminal("chat", cwd=folder) as terminal:
        greeting = terminal.until(PROMPT)
        terminal.type("When does the release train leave?\n")
        terminal.until("Fridays at noon")
        terminal.until(PROMPT)
        terminal.type("/why\n")
        why = terminal.until("Learned of it")
        session = leave(terminal)
    with at_terminal("chat", "--continue", cwd=folder) as terminal:
        terminal.until("When does the release train leave?")
        terminal.until(PROMPT)
        terminal.type("/why\n")
        why_again = terminal.until("Learned of it")
        terminal.until(PROMPT)
        terminal.type(CTRL_C)
        terminal.until("once more")
        terminal.until(PROMPT)
        terminal.type(CTRL_C)
        terminal.until(f"--session {session}")
        code = terminal.wait()

    assert "librarian" in greeting
    assert "COMMONPLACE_LLM_MODEL" in greeting
    assert "The release train leaves on Fridays at noon" in why
    assert "The release train leaves on Fridays at noon" in why_again
    assert code == 130


def test_a_chat_says_that_a_restart_cut_its_turn_off_and_goes_on(
    home: Path, model: dict[str, str], vendor: Vendor, folder: Path
) -> None:
    vendor.replies = [stream("Half of it ", hang=True)]
    with running_daemon(home, env=model) as daemon:
        place = {"COMMONPLACE_URL": daemon.url, "COMMONPLACE_TOKEN": daemon.token}
        with at_terminal("chat", cwd=folder, env=place) as terminal:
            terminal.until(PROMPT)
            terminal.type("Tell me all\n")
            terminal.until("Half of it")
            daemon.process.kill()
            daemon.process.wait(timeout=5)
            vendor.replies = [stream("The other half.")]
            with running_daemon(home, "--port", daemon.url.rpartition(":")[2], env=model):
                terminal.until("[turn_cut_off]")
                terminal.until(PROMPT)
                terminal.type("Go on\n")
                terminal.until("The other half.")
                leave(terminal)
