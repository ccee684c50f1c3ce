"""A writer who swaps what is imported, at any moment, reads nothing through the daemon that they could not read themselves."""

import asyncio
import os
import random
import shutil
import socket
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from commonplace.errors import CommonplaceError, Forbidden, InvalidInput, PathEscape, PathNotFound
from commonplace.importing.folders import OUTSIDE, PRIVATE_FOLDER
from commonplace.jobs.payloads import IMPORT_PAYLOAD
from commonplace.service.desk import Desk
from commonplace.service.transfer import Moving
from commonplace.testing.callers import caller
from commonplace.testing.traps import before_open
from commonplace.values.principal import Principal
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Record
from commonplace.values.scope import DEFAULT_TENANT, Scope
from commonplace.values.transfer import ImportOptions, ImportReport

pytestmark = pytest.mark.anyio

TOKEN = "k9-operator-7f3a"
WEB = Scope("workspace", "web")
WRITER = caller("writer")
OPERATOR = Principal(subject="operator", tenant=DEFAULT_TENANT, role="admin", operator=True)
Swap = Callable[[Path, Path], None]


class Server:
    """A folder below an import root, beside a home folder that holds the token."""

    def __init__(self, desk: Desk, base: Path) -> None:
        self.desk = desk
        self.home = base / "home"
        self.roots = base / "roots"
        self.folder = self.roots / "team" / "notes"
        self.folder.mkdir(parents=True)
        self.token = self.home / "token"
        # Everything a swapped folder could lead to is there under the names of the notes.
        for name in ("token", "note.md", "sub/note.md", "memories/note.md", "memory/note.md", "notes/note.md"):
            self._write(self.home / name, TOKEN)
        self.moving = Moving(desk, [self.roots], home=self.home)

    def write(self, *names: str) -> None:
        for name in names:
            self._write(self.folder / name, f"the text of {name}")

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def end_pipes(self) -> None:
        for path in self.roots.rglob("*"):
            if path.is_fifo():
                os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))

    async def run(self, path: Path | None = None, who: Principal = WRITER, **options: Any) -> ImportReport:
        async with asyncio.timeout(30):
            return await self.moving.import_now(
                who, str(path or self.folder), scope=WEB, options=ImportOptions(**options)
            )

    async def records(self) -> dict[str, Record]:
        """Every record, live or not, by the path of its file. None of them has the token."""
        page = await self.desk.store.records.find(DEFAULT_TENANT, Filter(states=ALL_STATES), "key", 1000, None)
        for record in page.records:
            for version in await self.desk.store.records.history(DEFAULT_TENANT, record.id):
                assert TOKEN not in version.text
        return {record.provenance.file or "": record for record in page.records}

    async def live(self) -> set[str]:
        return {name for name, record in (await self.records()).items() if record.deleted_at is None}


@pytest.fixture
async def server(desk: Desk, tmp_path: Path) -> AsyncGenerator[Server]:
    server = Server(desk, tmp_path)
    yield server
    # Whoever waits for somebody to write into a pipe need not wait any longer.
    server.end_pipes()


def replaced(swap: Swap) -> Swap:
    def replace(path: Path, token: Path) -> None:
        path.unlink()
        swap(path, token)

    return replace


def _device(path: Path, token: Path) -> None:
    del token
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only some may make a device")


def _socket(path: Path, token: Path) -> None:
    del token
    draft = Path("s")  # a socket has a short address only
    with socket.socket(socket.AF_UNIX) as heard:
        heard.bind(str(draft))
    draft.rename(path)


def _grown(path: Path, token: Path) -> None:
    del token
    with path.open("ab") as file:
        file.truncate(2 * 1024 * 1024 + 1)


SWAPS: dict[str, Swap] = {
    "a link to the token": replaced(lambda path, token: path.symlink_to(token)),
    "a relative link to the token": replaced(lambda path, token: path.symlink_to(os.path.relpath(token, path.parent))),
    "a second name of the token": replaced(lambda path, token: path.hardlink_to(token)),
    "a link to a device": replaced(lambda path, _: path.symlink_to("/dev/zero")),
    "a device": replaced(_device),
    "a pipe": replaced(lambda path, _: os.mkfifo(path)),
    "a link to itself": replaced(lambda path, _: path.symlink_to(path)),
    "a socket": replaced(_socket),
    "a folder": replaced(lambda path, _: path.mkdir()),
    "nothing": replaced(lambda _path, _token: None),
    "a larger file": _grown,
}


@pytest.mark.parametrize("moment", ["a.md", "note.md"], ids=["after the survey", "in the last moment"])
@pytest.mark.parametrize("swap", SWAPS.values(), ids=SWAPS)
async def test_a_file_that_became_something_else_is_named_and_the_others_are_imported(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, swap: Swap, moment: str
) -> None:
    monkeypatch.chdir(tmp_path)
    server.write("a.md", "note.md", "z.md")

    with before_open(moment, lambda: swap(server.folder / "note.md", server.token)) as trap:
        report = await server.run()

    assert trap.sprung
    assert await server.live() == {"a.md", "z.md"}
    assert [name for name, reason in report.problems if reason] == ["note.md"]
    assert (report.discovered_files, report.indexed_files, report.errors) == (3, 2, 1)


async def test_a_file_edited_after_the_survey_is_read_as_it_is_now_and_not_again_the_next_time(server: Server) -> None:
    server.write("a.md", "note.md")
    path = server.folder / "note.md"

    def edit() -> None:
        path.write_text("edited, and longer than before", encoding="utf-8")

    with before_open("a.md", edit):
        await server.run()
    status = path.stat()
    again = await server.run()

    record = (await server.records())["note.md"]
    assert record.text == "edited, and longer than before"
    assert (record.metadata["mtime"], record.metadata["size"]) == (status.st_mtime_ns // 1_000_000, status.st_size)
    assert (again.indexed_files, again.skipped_files) == (0, 2)


def swapped(place: Path, target: Path) -> None:
    place.rename(place.with_name("aside"))
    place.symlink_to(target)


async def test_a_folder_swapped_for_a_link_after_the_survey_leads_nowhere(server: Server) -> None:
    server.write("a.md", "sub/note.md", "z.md")

    with before_open("a.md", lambda: swapped(server.folder / "sub", server.home)) as trap:
        report = await server.run()

    assert trap.sprung
    assert await server.live() == {"a.md", "z.md"}
    assert [name for name, _ in report.problems] == ["sub/note.md"]


async def test_a_folder_swapped_for_a_link_during_the_survey_is_named_and_its_records_stay(server: Server) -> None:
    server.write("a.md", "sub/note.md")
    await server.run()

    with before_open("sub", lambda: swapped(server.folder / "sub", server.home)) as trap:
        report = await server.run(sync_deletes=True)

    assert trap.sprung
    assert await server.live() == {"a.md", "sub/note.md"}
    assert [name for name, _ in report.problems] == ["sub"]
    assert report.deleted_files == 0


@pytest.mark.parametrize("above", ["notes", "team"])
async def test_a_root_swapped_for_a_link_during_the_import_is_read_to_the_end(server: Server, above: str) -> None:
    server.write("a.md", "note.md")
    place = server.folder if above == "notes" else server.folder.parent

    with before_open("a.md", lambda: swapped(place, server.home)) as trap:
        report = await server.run()

    assert trap.sprung
    assert await server.live() == {"a.md", "note.md"}
    assert report.problems == ()


@pytest.mark.parametrize("who", [WRITER, OPERATOR], ids=["writer", "operator"])
@pytest.mark.parametrize("above", ["notes", "team"])
async def test_a_root_swapped_for_a_link_once_it_was_allowed_is_not_opened(
    server: Server, above: str, who: Principal
) -> None:
    server.write("a.md", "note.md")
    place = server.folder if above == "notes" else server.folder.parent

    with before_open(above, lambda: swapped(place, server.home)) as trap, pytest.raises(PathEscape):
        await server.run(who=who)

    assert trap.sprung
    assert await server.records() == {}


async def test_a_root_that_vanishes_is_an_error_and_deletes_no_record(server: Server) -> None:
    server.write("a.md")
    await server.run()

    with before_open("notes", lambda: shutil.rmtree(server.folder)) as trap, pytest.raises(PathNotFound):
        await server.run(sync_deletes=True)

    assert trap.sprung
    assert await server.live() == {"a.md"}


@pytest.mark.parametrize("who", [WRITER, OPERATOR], ids=["writer", "operator"])
async def test_a_root_swapped_for_a_link_while_its_job_waits_is_not_opened(server: Server, who: Principal) -> None:
    server.write("note.md")
    job = await server.moving.queue_import(who, str(server.folder), scope=WEB)
    swapped(server.folder, server.home)

    with pytest.raises(PathEscape):
        await server.moving.run_import(job, IMPORT_PAYLOAD.read(job.payload), lambda _done, _total: None)

    assert await server.records() == {}


@pytest.mark.parametrize("kind", ["link", "pipe"])
async def test_a_single_file_swapped_once_it_was_allowed_is_not_read(server: Server, kind: str) -> None:
    server.write("note.md")
    path = server.folder / "note.md"
    swap = SWAPS["a link to the token" if kind == "link" else "a pipe"]

    with before_open("note.md", lambda: swap(path, server.token)) as trap, pytest.raises((PathEscape, InvalidInput)):
        await server.run(path)

    assert trap.sprung
    assert await server.records() == {}


@pytest.mark.parametrize("place", ["MEMORY.md", "memory", "memory/note.md"])
@pytest.mark.parametrize("inside", ["", "workspace"])
async def test_what_is_swapped_in_an_openclaw_folder_leads_nowhere(server: Server, inside: str, place: str) -> None:
    names = ("MEMORY.md", "memory/2026-03-01.md", "memory/note.md")
    server.write(*(f"{inside}/{name}".strip("/") for name in names))
    path = server.folder / inside / place
    target = server.home / "memory" if place == "memory" else server.token

    # The first file that is read, and in one case swapped itself.
    with before_open("MEMORY.md", lambda: swapped(path, target)) as trap:
        report = await server.run(layout="openclaw")

    assert trap.sprung
    expected = {name for name in names if not name.startswith(place)}
    assert await server.live() == expected
    assert {name for name, _ in report.problems} == set(names) - expected


@pytest.mark.parametrize("swap", ["a link to the token", "a device", "a pipe", "a folder", "a larger file"])
async def test_a_gitignore_that_cannot_be_read_leaves_its_folder_out_and_nothing_hangs(
    server: Server, swap: str
) -> None:
    server.write("a.md", "sub/note.md", "sub/deep/note.md")
    rules = server.folder / "sub" / ".gitignore"
    rules.write_text("private.md\n", encoding="utf-8")
    await server.run()

    with before_open(".gitignore", lambda: SWAPS[swap](rules, server.token)) as trap:
        report = await server.run(sync_deletes=True)

    assert trap.sprung
    assert [name for name, _ in report.problems] == ["sub"]
    assert await server.live() == {"a.md", "sub/note.md", "sub/deep/note.md"}


async def test_a_gitignore_at_the_top_that_is_too_large_deletes_no_record(server: Server) -> None:
    server.write("a.md")
    await server.run()
    (server.folder / ".gitignore").write_text("# much\n" * 50_000, encoding="utf-8")

    report = await server.run(sync_deletes=True)

    assert [name for name, _ in report.problems] == ["."]
    assert await server.live() == {"a.md"}


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
async def test_a_gitignore_that_is_no_file_has_no_effect(server: Server, kind: str) -> None:
    server.write("a.md")
    rules = server.folder / ".gitignore"
    if kind == "link":
        (server.roots / "rules").write_text("*.md\n", encoding="utf-8")
        rules.symlink_to(server.roots / "rules")
    elif kind == "pipe":
        os.mkfifo(rules)
    else:
        rules.mkdir()

    assert (await server.run()).indexed_files == 1


async def test_what_is_no_file_from_the_beginning_is_passed_over(server: Server) -> None:
    server.write("a.md")
    os.mkfifo(server.folder / "pipe.md")
    (server.folder / "link.md").symlink_to(server.token)
    (server.folder / "out").symlink_to(server.home)
    (server.folder / "again.md").hardlink_to(server.token)

    report = await server.run()

    assert await server.live() == {"a.md"}
    assert report.left_out == (("link.md", OUTSIDE), ("out", OUTSIDE))
    assert [name for name, _ in report.problems] == ["again.md"]


async def test_a_report_does_not_tell_what_a_link_leads_to(server: Server) -> None:
    server.write("a.md")
    (server.home / "private").mkdir()
    for name in ("private", "no-such-thing", "token"):
        (server.folder / name).symlink_to(server.home / name)

    report = await server.run()

    assert report.left_out == (("no-such-thing", OUTSIDE), ("private", OUTSIDE), ("token", OUTSIDE))


async def test_folders_nested_too_deeply_are_named_and_not_entered(server: Server) -> None:
    server.write("a.md", "/".join([*"x" * 101, "note.md"]))

    report = await server.run()

    assert await server.live() == {"a.md"}
    assert [name for name, _ in report.problems] == ["/".join("x" * 101)]


# ---- the home folder


@pytest.mark.parametrize("path", ["home", "home/memories", "home/sub", "home/note.md", "home/memories/note.md"])
async def test_no_key_imports_from_the_home_folder_even_below_a_root(server: Server, tmp_path: Path, path: str) -> None:
    server.moving = Moving(server.desk, [tmp_path], home=server.home)

    with pytest.raises(Forbidden):
        await server.run(tmp_path / path)

    assert await server.records() == {}


@pytest.mark.parametrize("root", ["home", "home/memories"])
async def test_a_root_that_is_the_home_folder_opens_it_to_no_key(server: Server, tmp_path: Path, root: str) -> None:
    server.moving = Moving(server.desk, [tmp_path / root], home=server.home)

    with pytest.raises(Forbidden):
        await server.run(tmp_path / root)


async def test_a_home_folder_inside_what_is_imported_is_left_out_and_named(server: Server, tmp_path: Path) -> None:
    server.write("a.md")
    server.moving = Moving(server.desk, [tmp_path], home=server.home)

    report = await server.run(tmp_path)

    assert await server.live() == {"roots/team/notes/a.md"}
    assert report.left_out == (("home", PRIVATE_FOLDER),)


async def test_a_home_folder_that_is_set_by_a_link_is_the_same_folder(server: Server, tmp_path: Path) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(server.home)
    server.moving = Moving(server.desk, [tmp_path], home=alias)

    for path in (alias, server.home, alias / "memories"):
        with pytest.raises(Forbidden):
            await server.run(path)


async def test_a_folder_that_the_operator_made_a_root_may_lie_in_the_home_folder(server: Server) -> None:
    inbox = server.home / "inbox"
    inbox.mkdir()
    (inbox / "a.md").write_text("for everybody", encoding="utf-8")
    server.moving = Moving(server.desk, [inbox], home=server.home)

    assert (await server.run(inbox)).indexed_files == 1


async def test_the_operator_imports_from_anywhere(server: Server) -> None:
    inbox = server.home / "inbox"
    inbox.mkdir()
    (inbox / "a.md").write_text("for everybody", encoding="utf-8")

    assert (await server.run(inbox, OPERATOR)).indexed_files == 1


@pytest.mark.parametrize("path", ["~no-such-user-here/notes", "round"])
async def test_a_path_that_leads_nowhere_is_refused_and_not_an_accident(
    server: Server, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(server.roots)
    (server.roots / "round").symlink_to("round")

    with pytest.raises(Forbidden):
        await server.moving.import_now(WRITER, path, scope=WEB)
    with pytest.raises(PathNotFound):
        await server.moving.import_now(OPERATOR, path, scope=WEB)


# ---- by chance


class Swapper(threading.Thread):
    """Swaps files and folders of a server, as fast as it goes and at most 20,000 times."""

    def __init__(self, server: Server, seed: int) -> None:
        super().__init__()
        self.stop = threading.Event()
        self._draw = random.Random(seed)
        self._server = server

    def run(self) -> None:
        for _ in range(20_000):
            if self.stop.is_set():
                return
            with suppress(OSError):
                self._draw.choice([self._swap_file, self._swap_folder])()

    def _swap_file(self) -> None:
        path = self._server.folder / self._draw.choice(["note.md", "sub/note.md"])
        draft = self._server.roots / "draft"
        draft.unlink(missing_ok=True)
        makers: list[Callable[[], object]] = [
            lambda: draft.write_text(f"a text of {self._draw.random()}", encoding="utf-8"),
            lambda: draft.symlink_to(self._server.token),
            lambda: draft.hardlink_to(self._server.token),
            lambda: os.mkfifo(draft),
        ]
        self._draw.choice(makers)()
        draft.rename(path)

    def _swap_folder(self) -> None:
        folder = self._server.folder
        place = self._draw.choice([folder / "sub", folder, folder.parent])
        swapped(place, self._server.home)
        place.unlink()
        place.with_name("aside").rename(place)


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_is_swapped_while_imports_run_no_record_has_the_token(server: Server, seed: int) -> None:
    server.write("a.md", "note.md", "sub/note.md", "sub/z.md")
    swapper = Swapper(server, seed)
    swapper.start()
    ended = 0
    try:
        for n in range(40):
            with suppress(CommonplaceError):
                await server.run(sync_deletes=n % 2 == 0)
                ended += 1
    finally:
        swapper.stop.set()
        swapper.join(timeout=10)

    assert ended > 0
    assert await server.records()
