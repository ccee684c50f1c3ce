"""`tools/sync_client.py`: the client without an event loop is written from the one with, and never by hand."""

import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
GENERATED = ("client.py", "connection.py")


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    return importlib.import_module("sync_client")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The tool and the clients, in a folder of their own."""
    ports = [f"src/commonplace/ports/{name}_client.py" for name in ("memory", "catalog", "history", "agent")]
    for name in ("tools/sync_client.py", "tools/port_docs.py", "pyproject.toml", "src/commonplace/__init__.py", *ports):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "src" / "commonplace" / "sdk", tmp_path / "src" / "commonplace" / "sdk")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "tools" / "sync_client.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def texts(folder: Path) -> list[str]:
    return [(folder / "src" / "commonplace" / "sdk" / name).read_text(encoding="utf-8") for name in GENERATED]


def test_the_committed_files_are_what_the_tool_writes() -> None:
    check = run(ROOT, "--check")

    assert (check.returncode, check.stdout, check.stderr) == (0, "", "")


def test_the_check_reports_a_change_until_the_tool_has_written_it(copy: Path) -> None:
    source = copy / "src" / "commonplace" / "sdk" / "async_client.py"
    source.write_text(source.read_text(encoding="utf-8").replace("limit: int = 10,", "limit: int = 11,"), "utf-8")
    before = texts(copy)

    first_check = run(copy, "--check")
    unchanged = texts(copy)
    update = run(copy)
    second_check = run(copy, "--check")

    assert (first_check.returncode, unchanged) == (1, before)
    assert "src/commonplace/sdk/client.py" in first_check.stdout
    assert "connection.py" not in first_check.stdout
    assert (update.returncode, second_check.returncode) == (0, 0)
    assert "limit: int = 11," in texts(copy)[0]


def test_a_generated_file_names_its_source_in_the_first_line(copy: Path) -> None:
    first = [text.partition("\n")[0] for text in texts(copy)]

    assert ["async_client.py" in first[0], "async_connection.py" in first[1]] == [True, True]
    assert all("Do not edit" in line for line in first)


@pytest.mark.parametrize(
    ("asynchronous", "synchronous"),
    [
        (
            "async def get(self) -> int:\n    return await self.ask(1)\n",
            "def get(self) -> int:\n    return self.ask(1)\n",
        ),
        ("total = (await x()).records\n", "total = (x()).records\n"),
        ("async with a as b, c as d:\n    pass\n", "with a as b, c as d:\n    pass\n"),
        ("async for part in r.aiter_bytes():\n    pass\n", "for part in r.iter_bytes():\n    pass\n"),
        ("found = [p async for p in parts]\n", "found = [p for p in parts]\n"),
        ("import asyncio\nawait asyncio.sleep(1)\n", "import time\ntime.sleep(1)\n"),
        ('"""As `AsyncMemory`,\nbut await it."""\n', '"""As `Memory`,\nbut await it."""\n'),
        ("x = 1  # AsyncClient, awaited\n", "x = 1  # Client, awaited\n"),
        ("AsyncClients = awaited = 1\n", None),
        ("async def __aiter__(self): ...\n", None),
        ("await asyncio_sleep()\n", None),
        ("await client.aread_all()\n", None),
    ],
)
def test_only_what_differs_is_replaced(tool: ModuleType, asynchronous: str, synchronous: str | None) -> None:
    if synchronous is None:
        with pytest.raises(tool.Untranslated):
            tool.translate(asynchronous)
    else:
        assert tool.translate(asynchronous) == synchronous
