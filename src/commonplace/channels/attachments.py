"""
What people send into a room, as files of the room: fetched once, bounded, kept as artifacts, which no search finds.

Nothing is unpacked, decoded or shown here, so that a file which would grow to a thousand times its size stays as small as it came. What
cannot be kept is named to the agent with the reason, and never keeps the words that came with it from being answered.
"""

from __future__ import annotations

import asyncio
import mimetypes
from dataclasses import dataclass, replace
from typing import Final

from commonplace.channels.prefix import file_name
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.ports.channel import Channel
from commonplace.service.artifacts import Artifacts
from commonplace.values.artifact import Artifact, ArtifactDraft
from commonplace.values.channel import ChatRoom
from commonplace.values.envelope import AttachmentKind, ChatAttachment, Envelope
from commonplace.values.principal import Principal
from commonplace.values.run_errors import ArtifactNotFound, ArtifactTooLarge

_OCTETS: Final = "application/octet-stream"
_SECONDS: Final = 60.0
_KINDS: Final[dict[str, AttachmentKind]] = {"image": "image", "audio": "audio", "video": "video"}


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomFiles:
    """`seconds`: how long all files of one message may take to come."""

    artifacts: Artifacts
    seconds: float = _SECONDS

    async def upload(self, who: Principal, room: ChatRoom, name: str, media_type: str | None, data: bytes) -> Artifact:
        """
        Keep a file for a room.

        Raises:
            ArtifactTooLarge, Forbidden.
            InvalidInput: there is nothing in it.
        """
        if not data:
            raise InvalidInput("The file is empty.")
        name = file_name(name)
        draft = ArtifactDraft(name=name, type=media_type or type_of(name), room=room.scope)
        return await self.artifacts.add(who, draft, data)

    async def uploaded(self, who: Principal, room: ChatRoom, ids: tuple[str, ...]) -> tuple[ChatAttachment, ...]:
        """Files that were uploaded to the room, as what comes with a message. Raises InvalidInput: one is none of its."""
        files: list[ChatAttachment] = []
        for id in dict.fromkeys(ids):
            try:
                artifact = await self.artifacts.get(who, id)
            except ArtifactNotFound:
                artifact = None
            if artifact is None or artifact.room != room.scope:
                raise InvalidInput(f"{id!r:.80} is no file of this room. Upload it first.")
            kind = _KINDS.get(artifact.type.partition("/")[0], "file")
            files.append(ChatAttachment(kind=kind, name=artifact.name, reference=artifact.id, path=artifact.uri))
        return tuple(files)

    async def fetched(self, who: Principal, platform: Channel, room: ChatRoom, envelope: Envelope) -> Envelope:
        """The message with its files kept, or with the reasons why not."""
        files: list[ChatAttachment] = []
        rest = platform.limits.attachment_bytes
        ends = asyncio.get_running_loop().time() + self.seconds
        for file in envelope.attachments:
            if file.path is not None or file.problem is not None:
                files.append(file)
                continue
            try:
                async with asyncio.timeout_at(ends):
                    data = await platform.download(file)
                if len(data) > rest:
                    raise ArtifactTooLarge
                rest -= len(data)
                artifact = await self.upload(who, room, file.name, None, data)
            except TimeoutError:
                files.append(replace(file, problem="It did not come in time."))
            except ArtifactTooLarge:
                files.append(replace(file, problem=f"It is too large. At most {self.most_bytes(platform) >> 20} MB."))
            except CommonplaceError as error:
                files.append(replace(file, problem=error.message[:200]))
            else:
                files.append(replace(file, path=artifact.uri))
        return replace(envelope, attachments=tuple(files))

    def most_bytes(self, platform: Channel) -> int:
        return min(platform.limits.attachment_bytes, self.artifacts.most_bytes)


def lost_files(envelope: Envelope) -> list[ChatAttachment]:
    """Those that could not be kept."""
    return [file for file in envelope.attachments if file.problem is not None]


def type_of(name: str) -> str:
    """By the name alone: what is in it says nothing that could be trusted more."""
    return mimetypes.guess_type(name)[0] or _OCTETS
