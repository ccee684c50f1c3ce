"""
A room at the terminal: what others say and what the agent answers is shown as it comes, what is typed is said.

Lines are read in a thread of their own, so that a room is heard while somebody writes.
"""

import asyncio
import re
import sys
import uuid
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import typer

from commonplace import AsyncClient
from commonplace.cli.door import Door
from commonplace.cli.lines import visible
from commonplace.errors import CommonplaceError, NotFound
from commonplace.values.channel import RoomMessage
from commonplace.values.room_event import MessageAdded, MessageChanged

_RECAP = 20
_ATTACH = re.compile(r"/(?:attach|附件)\s+(.+)")


class RoomChat:
    """One room. `speaker`: whom the operator speaks for."""

    def __init__(self, daemon: AsyncClient, channel: str, room: str, speaker: str | None) -> None:
        self._daemon = daemon
        self._channel = channel
        self._room = room
        self._speaker = speaker
        self._drafts: dict[str, RoomMessage] = {}
        self._own: set[str] = set()
        """What was typed here needs not be shown again."""
        self._quiet = asyncio.Event()
        self._waiting: set[str] = set()

    async def open(self) -> None:
        """Look in; a room that is not there is made."""
        rooms = self._daemon.rooms
        try:
            await rooms.get(self._room, channel=self._channel)
        except NotFound:
            await rooms.create(self._room, id=self._room, channel=self._channel)
        page = await rooms.messages(self._room, limit=_RECAP, channel=self._channel)
        for message in page.messages:
            self._show(message)

    async def hear(self) -> None:
        async for heard in self._daemon.rooms.hear(self._room, after=None, channel=self._channel):
            match heard.event:
                case MessageAdded(message=message) if message.author == "agent":
                    # It is written still: shown when it is whole.
                    self._drafts[message.id] = message
                case MessageAdded(message=message):
                    if message.id not in self._own:
                        self._show(message)
                    self._answered(message)
                case MessageChanged(id=id, text=text, final=True) if id in self._drafts and text is not None:
                    message = self._drafts.pop(id)
                    self._show(message, text)
                    self._answered(message)
                case _:
                    pass

    async def say(self, text: str) -> None:
        # Known before it is said: it may be heard before the daemon has answered.
        id = uuid.uuid4().hex
        self._own.add(id)
        self._waiting.add(id)
        try:
            await self._daemon.rooms.say(self._room, text, id=id, speaker=self._speaker, channel=self._channel)
        except CommonplaceError as error:
            self._waiting.discard(id)
            typer.secho(visible(error.message), fg="red", err=True)

    async def attach(self, path: Path) -> None:
        """Say a file of this machine."""
        rooms, name = self._daemon.rooms, path.name
        try:
            data = await asyncio.to_thread(_content, path)
            artifact = await rooms.upload(self._room, name, data, channel=self._channel)
            message = await rooms.send_files(
                self._room, [artifact.id], mention=True, speaker=self._speaker, channel=self._channel
            )
        except OSError as error:
            typer.secho(f"Cannot read {visible(str(path))}: {error.strerror}.", fg="red", err=True)
            return
        except CommonplaceError as error:
            typer.secho(visible(error.message), fg="red", err=True)
            return
        self._own.add(message.id)
        self._waiting.add(message.id)
        typer.echo(f"{visible(artifact.name)} is in the room.")

    async def settle(self, seconds: float) -> None:
        """Wait for what was asked last, if it is answered at all."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._waiting:
                    self._quiet.clear()
                    await self._quiet.wait()

    def _answered(self, message: RoomMessage) -> None:
        self._waiting.discard(str(message.data.get("reply_to")))
        self._quiet.set()

    def _show(self, message: RoomMessage, text: str | None = None) -> None:
        who = message.sender_name if message.author == "person" else message.author
        color = {"person": "cyan", "agent": "green", "notice": "yellow"}[message.author]
        typer.secho(f"{visible(who)}: ", fg=color, bold=True, nl=False)
        typer.echo(visible(message.text if text is None else text))
        files = message.data.get("attachments")
        for file in files if isinstance(files, list) else ():
            if isinstance(file, dict):
                typer.echo(
                    f"  [{visible(str(file.get('name')))}] {visible(str(file.get('path') or file.get('problem')))}"
                )


def talk_in(door: Door, url: str, channel: str, room: str, speaker: str | None) -> None:
    """Until the input ends."""
    asyncio.run(_talk(door, url, channel, room, speaker))


async def _talk(door: Door, url: str, channel: str, room: str, speaker: str | None) -> None:
    async with door.async_client(url) as daemon:
        chat = RoomChat(daemon, channel, room, speaker)
        await chat.open()
        async with asyncio.TaskGroup() as group:
            listener = group.create_task(chat.hear())
            async for line in _lines():
                attached = _ATTACH.fullmatch(line.strip())
                if attached is not None:
                    await chat.attach(Path(attached[1].strip("'\"")))
                elif line.strip():
                    await chat.say(line)
            if not sys.stdin.isatty():
                await chat.settle(30.0)
            listener.cancel()


def _content(path: Path) -> bytes:
    """Raises OSError."""
    return path.expanduser().read_bytes()


async def _lines() -> AsyncGenerator[str]:
    """What is typed, line by line."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[str | None] = asyncio.Queue()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(queue.put_nowait, line.rstrip("\n"))
        loop.call_soon_threadsafe(queue.put_nowait, None)

    # No thread of the loop's own: a line that nobody types must not keep the process from ending.
    Thread(target=read, daemon=True).start()
    while (line := await queue.get()) is not None:
        yield line
