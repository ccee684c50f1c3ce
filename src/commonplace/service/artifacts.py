"""
Artifacts, for those whose they are: added, listed, fetched, deleted, and promoted into the memory.

No search finds an artifact. Promoted by somebody who may write to a scope, its text becomes a record there, judged as every write is.
"""

from __future__ import annotations

import asyncio
import errno
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from commonplace.artifacts.cabinet import Cabinet, new_artifact_id
from commonplace.errors import FileError, Forbidden, InvalidInput, StoreFull
from commonplace.governance.access import reaches_all, require_role
from commonplace.ports.journal import Entries
from commonplace.values.artifact import Artifact, ArtifactDraft, ArtifactPage, ArtifactQuery
from commonplace.values.audit import AuditQuery
from commonplace.values.line import is_text
from commonplace.values.moment import utc
from commonplace.values.note import Note
from commonplace.values.principal import CHANNEL_SUBJECT, LOCAL, Principal
from commonplace.values.record import Provenance
from commonplace.values.run_errors import ArtifactNotFound, ArtifactNotText, ArtifactTooLarge, RunsUnavailable

if TYPE_CHECKING:
    from commonplace.service.desk import Desk
    from commonplace.service.records import Records
    from commonplace.service.runs import Runs
    from commonplace.values.json import Json
    from commonplace.values.record import Record, Trust
    from commonplace.values.scope import Scope

T = TypeVar("T")

MOST_LISTED: Final = 1_000
MOST_IN_ROOM: Final = 1 << 30
"""Bytes of all files of one room."""
MOST_NAME: Final = 255
_TYPE: Final = re.compile(
    r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}(; ?charset=[a-z0-9-]{1,40})?"
)
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_ORPHANS_KEPT: Final = timedelta(hours=1)
_ROWS: Final = 1_000
"""Of the audit, that are looked through for an artifact that is not here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ArtifactLimits:
    """`keep`: for how long, unless the draft says; None: until it is deleted."""

    keep: timedelta | None
    most_bytes: int


class Artifacts:
    def __init__(self, desk: Desk, home: Path | None, runs: Runs, records: Records, limits: ArtifactLimits) -> None:
        self._desk = desk
        self._cabinet = None if home is None else Cabinet(home)
        self._runs = runs
        self._records = records
        self._limits = limits

    @property
    def most_bytes(self) -> int:
        return self._limits.most_bytes

    async def add(self, who: Principal, draft: ArtifactDraft, data: bytes) -> Artifact:
        """
        Keep a file. The same content again takes no more room. One of a chat room is nobody's own.

        Raises:
            ArtifactTooLarge: it has more bytes than one may have, or its room has as many as it may.
            InvalidInput: the name or the type is none.
            RunNotFound: the run is not the caller's.
        """
        desk, now = self._desk, utc(self._desk.clock.now())
        async with desk.account(who, "artifact.add", scope=draft.room, run=draft.run) as account:
            require_role(who, "writer")
            _check(draft)
            if draft.room is not None:
                await desk.require(who, draft.room)
            if len(data) > self._limits.most_bytes:
                raise ArtifactTooLarge(bytes=len(data), limit=self._limits.most_bytes)
            if draft.expires_at is not None and draft.expires_at <= now:
                raise InvalidInput("The artifact would have expired already. Name a later time.")
            if draft.run is not None:
                await self._runs.get(who, draft.run)
            cabinet = self._here()
            if draft.room is not None:
                await self._require_space(cabinet, who.tenant, draft.room, len(data))
            digest = await asyncio.to_thread(lambda: sha256(data).hexdigest())
            keep = self._limits.keep
            artifact = Artifact(
                id=new_artifact_id(digest),
                name=draft.name,
                type=draft.type.lower(),
                size=len(data),
                sha256=digest,
                tenant=who.tenant,
                owner=who.subject if draft.room is None else _channel_of(draft.room),
                created_at=now,
                run=draft.run,
                room=draft.room,
                expires_at=utc(draft.expires_at) if draft.expires_at else None if keep is None else now + keep,
            )
            await _in_thread(lambda: cabinet.add(artifact, data))
            await account.note(artifact=artifact.id, bytes=artifact.size, owner=artifact.owner)
            return artifact

    async def list(self, who: Principal, query: ArtifactQuery) -> ArtifactPage:
        """Newest first."""
        async with self._desk.account(who, "artifact.list") as account:
            require_role(who, "reader")
            if not 1 <= query.limit <= MOST_LISTED:
                raise InvalidInput(f"A page has 1 to {MOST_LISTED:,} artifacts.")
            if query.everyone:
                require_role(who, "admin")
                await account.note_read(everyone=True)
            if query.room is not None:
                await self._desk.require(who, query.room)
            cabinet, now = self._here(), self._desk.clock.now()
            cards = [card for card in await _in_thread(lambda: cabinet.all(who.tenant)) if not _is_over(card, now)]
        if query.room is not None:
            visible = [card for card in cards if card.room == query.room]
        else:
            visible = [card for card in cards if _is_own(who, card) or (query.everyone and _sees_all(who))]
        matches = [card for card in visible if query.run is None or card.run == query.run]
        if query.cursor is not None:
            places = [place for place, card in enumerate(matches) if card.id == query.cursor]
            if not places:
                raise InvalidInput("The cursor is none of ours, or its artifact has gone. Leave it out to begin anew.")
            matches = matches[places[0] + 1 :]
        page = matches[: query.limit]
        return ArtifactPage(tuple(page), page[-1].id if len(matches) > len(page) else None)

    async def get(self, who: Principal, id: str) -> Artifact:
        """Raises ArtifactNotFound."""
        async with self._desk.account(who, "artifact.read"):
            require_role(who, "reader")
            return await self._found(who, id)

    async def content(self, who: Principal, id: str) -> tuple[Artifact, bytes]:
        """Raises ArtifactNotFound, FileError."""
        async with self._desk.account(who, "artifact.read") as account:
            require_role(who, "reader")
            artifact = await self._found(who, id)
            cabinet = self._here()
            data = await _in_thread(lambda: cabinet.content(artifact))
            await account.note_read(artifact=id)
            return artifact, data

    async def delete(self, who: Principal, id: str) -> None:
        """What it was promoted to stays. One of a room is deleted by the room's owner and by admins."""
        async with self._desk.account(who, "artifact.delete") as account:
            require_role(who, "writer")
            artifact = await self._found(who, id)
            if artifact.room is not None and who.role != "admin":
                members = await self._desk.store.members.members(who.tenant, artifact.room)
                if not any(member.owner and member.subject == who.subject for member in members):
                    raise Forbidden("Only the owner of a room and admins delete its files.")
            cabinet = self._here()
            await _in_thread(lambda: cabinet.remove(who.tenant, id))
            await account.note(artifact=id)

    async def promote(self, who: Principal, id: str, scope: Scope | str, *, key: str | None = None) -> Record:
        """
        Make the text of an artifact a memory. What a run made is a model's word, and what came into a room somebody's from outside, whoever promotes it.
        A second time, the record becomes the next version, if it has a key.

        Raises:
            ArtifactNotText: it is no text in UTF-8.
            Forbidden: the caller does not write to that scope.
        """
        async with self._desk.account(who, "artifact.promote") as account:
            require_role(who, "writer")
            artifact = await self._found(who, id)
            cabinet = self._here()
            text = _text_of(await _in_thread(lambda: cabinet.content(artifact)))
            note = Note(
                text=text,
                scope=scope,
                key=key,
                kind="resource",
                source="artifact",
                trust=_trust_of(artifact),
                metadata={"artifact": artifact.id, "name": artifact.name, "type": artifact.type},
                provenance=Provenance(run=artifact.run, file=artifact.uri),
            )
            [result] = await self._records.put(who, [note], run=artifact.run)
            await _in_thread(lambda: cabinet.change(replace(artifact, record=result.record.id)))
            await account.note(artifact=id, record=result.record.id)
            return replace(result.record, outcome=result.outcome)

    async def erase(self, tenant: str, owner: str) -> int:
        """Delete all of a person's, for good. For whoever was let in already, and keeps the account."""
        return len(await self._erase(tenant, lambda card: card.owner == owner))

    async def erase_room(self, tenant: str, room: Scope) -> int:
        """Delete all of a room's, for good. For whoever was let in already."""
        ids = await self._erase(tenant, lambda card: card.room == room)
        for id in ids:
            await self._note_gone(tenant, {"artifact": id, "room": str(room)})
        return len(ids)

    async def _erase(self, tenant: str, is_meant: Callable[[Artifact], bool]) -> list[str]:
        cabinet, ids = self._cabinet, list[str]()
        if cabinet is None:
            return ids
        for card in await _in_thread(lambda: cabinet.all(tenant)):
            if is_meant(card):
                with suppress(ArtifactNotFound):
                    await _in_thread(lambda id=card.id: cabinet.remove(tenant, id))
                    ids.append(card.id)
        return ids

    async def _note_gone(self, tenant: str, details: dict[str, Json]) -> None:
        """So that nobody looks for it elsewhere."""
        who = Principal(subject=LOCAL, name="daemon", tenant=tenant, role="admin", operator=True, door="daemon")
        row = self._desk.account(who, "artifact.delete").row("ok", details=details)
        await self._desk.store.journal.note(Entries(audit=(row,)))

    async def expire(self) -> int:
        """Delete those whose time is over, of every tenant. How many that were."""
        cabinet, now = self._cabinet, self._desk.clock.now()
        if cabinet is None:
            return 0
        count = 0
        for tenant, id in await _in_thread(lambda: cabinet.over(now)):
            try:
                await _in_thread(lambda tenant=tenant, id=id: cabinet.remove(tenant, id))
            except ArtifactNotFound:
                # Another process was quicker.
                continue
            await self._note_gone(tenant, {"artifact": id, "expired": True})
            count += 1
        await _in_thread(lambda: cabinet.sweep(now - _ORPHANS_KEPT))
        return count

    async def _found(self, who: Principal, id: str) -> Artifact:
        cabinet = self._here()
        try:
            artifact = await _in_thread(lambda: cabinet.get(who.tenant, id))
        except ArtifactNotFound:
            if await self._is_elsewhere(who, id):
                raise RunsUnavailable(
                    "The artifact lies in the home folder of another daemon. Ask that one, or let the daemons share it."
                ) from None
            raise
        if _is_over(artifact, self._desk.clock.now()) or not await self._reaches(who, artifact):
            raise ArtifactNotFound
        return artifact

    async def _reaches(self, who: Principal, artifact: Artifact) -> bool:
        if artifact.room is None:
            return _is_own(who, artifact) or _sees_all(who)
        return (await self._desk.with_members(who, [artifact.room])).reaches(artifact.room)

    async def _require_space(self, cabinet: Cabinet, tenant: str, room: Scope, size: int) -> None:
        cards = await _in_thread(lambda: cabinet.all(tenant))
        present = sum(card.size for card in cards if card.room == room)
        if present + size > MOST_IN_ROOM:
            raise ArtifactTooLarge(
                f"The files of this room have {MOST_IN_ROOM >> 20} MiB already. Delete some, or let them expire.",
                bytes=present + size,
                limit=MOST_IN_ROOM,
            )

    async def _is_elsewhere(self, who: Principal, id: str) -> bool:
        """Whether the caller's artifact was added at another daemon, whose home folder is not ours: as for runs, by the rows of the audit."""
        query = AuditQuery(actions=("artifact.add", "artifact.delete"), outcomes=("ok",))
        rows = (await self._desk.store.journal.audit(who.tenant, query, _ROWS, None)).rows
        row = next((row for row in rows if row.details.get("artifact") == id), None)
        return (
            row is not None
            and row.action == "artifact.add"
            and (row.details.get("owner") == who.subject or _sees_all(who))
        )

    def _here(self) -> Cabinet:
        if self._cabinet is None:
            raise RunsUnavailable("There is no home folder for artifacts here.")
        return self._cabinet


async def _in_thread(work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        if error.errno in _FULL:
            raise StoreFull from error
        raise FileError(f"The artifacts cannot be used: {error.strerror}.") from error


def _is_own(who: Principal, artifact: Artifact) -> bool:
    return artifact.room is None and artifact.owner == who.subject


def _channel_of(room: Scope) -> str:
    """Nobody's subject is called so."""
    return f"{CHANNEL_SUBJECT}{room.id.partition('/')[0]}"


def _trust_of(artifact: Artifact) -> Trust:
    if artifact.room is not None:
        return "connector_sourced"
    return "system_generated" if artifact.run is None else "model_generated"


def _sees_all(who: Principal) -> bool:
    return who.role == "admin" and reaches_all(who)


def _is_over(artifact: Artifact, now: datetime) -> bool:
    return artifact.expires_at is not None and artifact.expires_at <= now


def _check(draft: ArtifactDraft) -> None:
    name = draft.name
    is_name = 1 <= len(name) <= MOST_NAME and name.isprintable() and is_text(name) and name == name.strip()
    if not is_name or "/" in name or "\\" in name or name in (".", ".."):
        raise InvalidInput(f"An artifact's name has 1 to {MOST_NAME} printable characters and no slash.")
    if not _TYPE.fullmatch(draft.type.lower()):
        raise InvalidInput("An artifact's type is a media type, for instance text/markdown.")


def _text_of(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ArtifactNotText from None
    if "\0" in text or not text.strip():
        raise ArtifactNotText
    return text
