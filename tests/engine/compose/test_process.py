"""A memory inside a process that forks, is interrupted, or ends without closing it."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commonplace.compose.background_loop import BackgroundLoop
from commonplace.compose.configuration import Configuration, configuration
from commonplace.errors import StoreClosed
from commonplace.settings import load_settings


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=30, check=False
    )


def test_a_program_that_forgets_to_close_its_memory_ends_and_loses_nothing(tmp_path: Path) -> None:
    script = "from commonplace import open_memory; m = open_memory('a.db'); m.put('kept')"

    forgetful = run(script, tmp_path)
    reader = run("from commonplace import open_memory\nprint(open_memory('a.db').list().records[0].text)", tmp_path)

    assert (forgetful.returncode, forgetful.stderr) == (0, "")
    assert (reader.returncode, reader.stdout, reader.stderr) == (0, "kept\n", "")


def test_a_memory_that_is_collected_ends_its_thread(tmp_path: Path) -> None:
    script = """
import gc, threading
from commonplace import open_memory
memory = open_memory('a.db')
assert any(thread.name == 'commonplace-loop' for thread in threading.enumerate())
del memory
gc.collect()
print([thread.name for thread in threading.enumerate() if thread.name.startswith('commonplace')])
"""

    ended = run(script, tmp_path)

    assert (ended.stdout, ended.stderr) == ("[]\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_is_told_to_open_its_own(tmp_path: Path) -> None:
    script = """
import os, warnings
warnings.simplefilter('ignore')
from commonplace import open_memory
from commonplace.errors import StoreClosed
memory = open_memory('a.db')
child = os.fork()
if not child:
    try:
        memory.put('from the child')
    except StoreClosed:
        os._exit(7)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
memory.put('from the parent')
memory.close()
"""

    forked = run(script, tmp_path)

    assert (forked.stdout, forked.stderr) == ("7\n", "")


def test_an_interrupt_ends_the_wait_and_the_work(tmp_path: Path) -> None:
    script = """
import asyncio, os, signal, threading
from commonplace.compose.background_loop import BackgroundLoop
loop = BackgroundLoop()
ended = threading.Event()
async def forever():
    os.kill(os.getpid(), signal.SIGINT)
    try:
        await asyncio.Event().wait()
    finally:
        ended.set()
try:
    loop.run(forever())
except KeyboardInterrupt:
    print(ended.wait(timeout=5))
loop.stop()
"""
    assert signal.getsignal(signal.SIGINT) is not None

    interrupted = run(script, tmp_path)

    assert (interrupted.stdout, interrupted.stderr) == ("True\n", "")


def test_a_stopped_loop_does_no_more() -> None:
    loop = BackgroundLoop()
    loop.stop()
    loop.stop()

    async def work() -> None: ...

    with pytest.raises(StoreClosed):
        loop.run(work())


def test_whoever_waits_while_the_loop_is_stopped_is_told_so() -> None:
    loop = BackgroundLoop()
    begun = threading.Event()

    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(lambda: loop.run(forever()))
        assert begun.wait(timeout=5)
        loop.stop()

        with pytest.raises(StoreClosed):
            waiting.result(timeout=5)


def test_where_nothing_is_set_the_settings_are_not_even_read(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom commonplace import open_memory\nopen_memory('a.db').close()\n"
        "print({'pydantic', 'commonplace.workspace', 'commonplace.stores.sqlite.foreign'} & sys.modules.keys())"
    )

    assert run(script, tmp_path).stdout == "set()\n"


def test_what_is_not_set_is_the_same_read_or_not(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    unread = configuration()
    settings = load_settings()

    read = Configuration(
        home=settings.home,
        store=settings.store,
        tenant=settings.tenant,
        actor=settings.actor,
        embedder=settings.embedder,
        cache_bytes=settings.cache_mb << 20,
        token_budget=settings.token_budget,
    )
    assert unread == read
