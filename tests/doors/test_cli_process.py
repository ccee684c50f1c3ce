"""The command as a process of its own."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

INTERRUPT = b"\x03"
COMMAND = [sys.executable, "-m", "commonplace"]


def run(*args: str, stdin: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *args],
        input=stdin, capture_output=True, text=True, encoding="utf-8", env={**os.environ, **(env or {})}, timeout=60, check=False,
    )  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


def test_a_session_of_its_own_stores_finds_and_ends_with_the_right_codes(store: str) -> None:
    stored = run("--store", store, "put", "-", "--json", stdin="We ship on Fridays 船\n")
    found = run("search", "Fridays", "--json", env={"COMMONPLACE_STORE": store})
    missing = run("show", "01920000-0000-7000-8000-000000000000", "--store", store)

    assert (stored.returncode, found.returncode, missing.returncode) == (0, 0, 3)
    assert json.loads(found.stdout)["hits"][0]["record"]["id"] == json.loads(stored.stdout)["id"]
    assert "Traceback" not in missing.stderr


def test_the_default_store_lies_in_the_home_folder(home: Path) -> None:
    assert run("put", "At home", "-q").returncode == 0

    assert (home / "memory.db").exists()


def test_a_reader_that_goes_away_is_no_error(store: str) -> None:
    for number in range(3):
        run("--store", store, "put", f"Note {number} " * 5000)
    with subprocess.Popen(
        [*COMMAND, "--store", store, "list", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        complaint = process.stderr.read()

    assert complaint == b""


def test_a_shell_completes_commands_and_scopes(store: str) -> None:
    run("--store", store, "put", "x", "-s", "workspace:web")
    asked = {"_COMMONPLACE_COMPLETE": "complete_zsh", "COMMONPLACE_STORE": store}

    commands = run(env={**asked, "_TYPER_COMPLETE_ARGS": "commonplace sea"})
    scopes = run(env={**asked, "_TYPER_COMPLETE_ARGS": "commonplace search x --scope work"})

    assert "search" in commands.stdout
    assert "workspace" in scopes.stdout


def test_a_search_in_a_pipe_loads_neither_pydantic_nor_rich(store: str) -> None:
    run("--store", store, "put", "We ship on Fridays")
    script = (
        "import sys, atexit; from commonplace.cli import main; "
        "atexit.register(lambda: print(*sorted({'pydantic', 'rich', 'psycopg', 'httpx'} & sys.modules.keys()))); main()"
    )
    command = [sys.executable, "-c", script, "search", "Fridays", "--scope", "global", "--quiet", "--store", store]

    searched = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    assert len(searched.stdout.split()) == 1


def test_help_and_completion_load_no_engine() -> None:
    script = "import sys, commonplace.cli; print(*sorted({'numpy', 'apsw', 'psycopg', 'rich', 'pydantic'} & sys.modules.keys()))"

    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)

    assert loaded.stdout.split() == []


def at_a_terminal(args: list[str], awaited: bytes, typed: bytes) -> int:
    """Run the command at a terminal, type once `awaited` is shown, and answer its exit code."""
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [*COMMAND, *args], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        shown = b""
        while awaited not in shown:
            assert select.select([ours], [], [], 30)[0], shown
            shown += os.read(ours, 65536)
        if typed == INTERRUPT:
            process.send_signal(signal.SIGINT)
        else:
            os.write(ours, typed)
        drain = threading.Thread(target=read_to_the_end, args=(ours,))
        drain.start()
        try:
            code = process.wait(timeout=30)
        finally:
            process.kill()
        drain.join(timeout=5)
    os.close(ours)
    return code


def read_to_the_end(terminal: int) -> None:
    # A terminal whose other side has gone answers with an error on Linux, with nothing elsewhere.
    with suppress(OSError):
        while os.read(terminal, 65536):
            pass


def test_an_interruption_ends_with_130() -> None:
    assert at_a_terminal(["tour"], b"Enter goes on", INTERRUPT) == 130


@pytest.mark.parametrize(("answer", "code", "left"), [(b"y\n", 0, 3), (b"n\n", 1, 0), (b"\n", 1, 0)])
def test_a_purge_asks_and_does_as_it_is_told(store: str, answer: bytes, code: int, left: int) -> None:
    run("--store", store, "put", "Precious")

    assert at_a_terminal(["purge", "--scope", "global", "--store", store], b"[y/N]", answer) == code

    assert run("list", "--store", store).returncode == left
