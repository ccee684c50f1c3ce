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
from commonplace.errors import FileError, InvalidInput, StoreFull
from commonplace.governance.access import reaches_all, require_role
from commonplace.ports.journal import Entries
from commonplace.values.artifact import Artifact, ArtifactDraft, ArtifactPage, ArtifactQuery
from commonplace.values.audit import AuditQuery
from commonplace.values.line import is_text
from commonplace.values.moment import utc
from commonplace.values.note import Note
from commonplace.values.principal import LOCAL, Principal
from commonplace.values.record import Provenance
from commonplace.values.run_errors import ArtifactNotFound, ArtifactNotText, ArtifactTooLarge, RunsUnavailable

if TYPE_CHECKING:
    from commonplace.service.desk import Desk
    from commonplace.service.records import Records
    from commonplace.service.runs import Runs
    from commonplace.values.record import Record
    from commonplace.values.scope import Scope

T = TypeVar("T")

MOST_LISTED: Final = 1_000
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
        Keep a file. The same content again takes no more room.

        Raises:
            ArtifactTooLarge: it has more bytes than one may have.
            InvalidInput: the name or the type is none.
            RunNotFound: the run is not the caller's.
        """
        desk, now = self._desk, utc(self._desk.clock.now())
        async with desk.account(who, "artifact.add", run=draft.run) as account:
            require_role(who, "writer")
            _check(draft)
            if len(data) > self._limits.most_bytes:
                raise ArtifactTooLarge(bytes=len(data), limit=self._limits.most_bytes)
            if draft.expires_at is not None and draft.expires_at <= now:
                raise InvalidInput("The artifact would have expired already. Name a later time.")
            if draft.run is not None:
                await self._runs.get(who, draft.run)
            cabinet = self._here()
            digest = await asyncio.to_thread(lambda: sha256(data).hexdigest())
            keep = self._limits.keep
            artifact = Artifact(
                id=new_artifact_id(digest),
                name=draft.name,
                type=draft.type.lower(),
                size=len(data),
                sha256=digest,
                tenant=who.tenant,
                owner=who.subject,
                created_at=now,
                run=draft.run,
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
            cabinet, now = self._here(), self._desk.clock.now()
            cards = [card for card in await _in_thread(lambda: cabinet.all(who.tenant)) if not _is_over(card, now)]
        visible = [card for card in cards if card.owner == who.subject or (query.everyone and _sees_all(who))]
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
        """What it was promoted to stays."""
        async with self._desk.account(who, "artifact.delete") as account:
            require_role(who, "writer")
            await self._found(who, id)
            cabinet = self._here()
            await _in_thread(lambda: cabinet.remove(who.tenant, id))
            await account.note(artifact=id)

    async def promote(self, who: Principal, id: str, scope: Scope | str, *, key: str | None = None) -> Record:
        """
        Make the text of an artifact a memory. What a run made is a model's word, whoever promotes it. A second time, the record becomes the
        next version, if it has a key.

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
                trust="system_generated" if artifact.run is None else "model_generated",
                metadata={"artifact": artifact.id, "name": artifact.name, "type": artifact.type},
                provenance=Provenance(run=artifact.run, file=artifact.uri),
            )
            [result] = await self._records.put(who, [note], run=artifact.run)
            await _in_thread(lambda: cabinet.change(replace(artifact, record=result.record.id)))
            await account.note(artifact=id, record=result.record.id)
            return replace(result.record, outcome=result.outcome)

    async def erase(self, tenant: str, owner: str) -> int:
        """Delete all of a person's, for good. For whoever was let in already, and keeps the account."""
        cabinet, count = self._cabinet, 0
        if cabinet is None:
            return 0
        for card in await _in_thread(lambda: cabinet.all(tenant)):
            if card.owner == owner:
                with suppress(ArtifactNotFound):
                    await _in_thread(lambda id=card.id: cabinet.remove(tenant, id))
                    count += 1
        return count

    async def expire(self) -> int:
        """Delete those whose time is over, of every tenant. How many that were."""
        cabinet, now = self._cabinet, self._desk.clock.now()
        if cabinet is None:
            return 0
        count = 0
        for tenant, id in await _in_thread(lambda: cabinet.over(now)):
            who = Principal(subject=LOCAL, name="daemon", tenant=tenant, role="admin", operator=True, door="daemon")
            try:
                await _in_thread(lambda tenant=tenant, id=id: cabinet.remove(tenant, id))
            except ArtifactNotFound:
                # Another process was quicker.
                continue
            row = self._desk.account(who, "artifact.delete").row("ok", details={"artifact": id, "expired": True})
            await self._desk.store.journal.note(Entries(audit=(row,)))
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
        if _is_over(artifact, self._desk.clock.now()) or not (artifact.owner == who.subject or _sees_all(who)):
            raise ArtifactNotFound
        return artifact

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
