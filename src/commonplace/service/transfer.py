"""Memories in and out: folders of the server, exports, and the jobs that bring them in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final, TextIO, cast

from commonplace.errors import Forbidden, InvalidInput, PathNotFound, StoreError
from commonplace.governance.access import reaches_all, require_role, require_scope, visible
from commonplace.history.transfer import SessionTransfer
from commonplace.importing.folders import Location, extensions
from commonplace.importing.importer import PLAIN
from commonplace.importing.uploads import Problems, check_paths, folder_of, sifted
from commonplace.jobs.payloads import (
    IMPORT_PAYLOAD,
    ImportFilesPayload,
    ImportFolderPayload,
    ImportPayload,
    PrivateFiles,
    Requester,
)
from commonplace.markdown.reader import identities
from commonplace.markdown.roots import private_folders
from commonplace.memory.transfer import LoadReport, Shown
from commonplace.ports.journal import Entries
from commonplace.ports.maintenance import Progress
from commonplace.ports.records import RecordStore
from commonplace.service.account import Account, Journaled
from commonplace.service.desk import Desk
from commonplace.service.history import History
from commonplace.service.maintenance import Keeping
from commonplace.service.quarantine_reach import left_in
from commonplace.values.job import Job, Line, NewJob, Room
from commonplace.values.moment import new_id
from commonplace.values.principal import Principal
from commonplace.values.quarantine import Withheld
from commonplace.values.record import Draft, Json, Lineage, Record, Written
from commonplace.values.scope import Scope
from commonplace.values.session import Session
from commonplace.values.transfer import ExportCount, ImportOptions, ImportReport, SentFile

IMPORT: Final = "import"
_LAYOUTS: Final = ("directory", "openclaw")
WAITING: Final = 100
WAITING_BYTES: Final = 64 << 20
"""How many imports of one key may wait or run, and how large they may be together."""


class Bound(Journaled):
    """A journaled store that writes into each record by which connection it came."""

    def __init__(self, store: RecordStore, account: Account, binding: str) -> None:
        super().__init__(store, account)
        self._binding = binding

    async def put(self, drafts: Sequence[Draft], *, beside: object = None) -> list[Written]:
        return await super().put([self._bound(draft) for draft in drafts], beside=beside)

    async def revise(self, drafts: Sequence[Draft], *, beside: object = None) -> list[Record]:
        return await super().revise([self._bound(draft) for draft in drafts], beside=beside)

    def _bound(self, draft: Draft) -> Draft:
        record = draft.record
        metadata = {**record.metadata, "source_binding_id": self._binding}
        return replace(draft, record=replace(record, metadata=metadata))


class Moving:
    """
    `roots` are the folders below which keys other than the operator's may import, but nothing of `home`: it holds the operator's
    token and everybody's memory.
    """

    def __init__(self, desk: Desk, roots: Sequence[Path] = (), *, home: Path | None = None) -> None:
        self._desk = desk
        self._roots = tuple(roots)
        self._private = () if home is None else private_folders(home)

    # ---- folders

    async def queue_import(self, who: Principal, path: str, *, scope: Scope, options: ImportOptions = PLAIN) -> Job:
        """Import a folder or a file of the server in the background. The same import waits for the one that runs."""
        desk = self._desk
        async with desk.account(who, "record.import", scope=scope) as account:
            real = (await self._allowed(who, path, scope, options)).path
            payload = ImportFolderPayload(
                who=Requester.of(who),
                scope=scope,
                layout=options.layout,
                path=str(real),
                sync_deletes=options.sync_deletes,
                force=options.force,
                kinds=options.kinds,
            )
            return await self._queued(account, payload, f"{scope} {_words(options)} {real}")

    async def queue_files(
        self, who: Principal, files: Sequence[SentFile], *, scope: Scope, options: ImportOptions = PLAIN
    ) -> Job:
        """
        Import files that came with the request, in the background. They wait in the job itself, which every worker of the
        store can read, and are forgotten when it is done.

        Raises:
            InvalidInput: a path is not a plain relative one, or there are too many files.
        """
        desk = self._desk
        async with desk.account(who, "record.import", scope=scope) as account:
            await _require(self._desk, who, scope, options)
            check_paths(files)
            good, problems = await asyncio.to_thread(sifted, files, options.layout, options.kinds)
            private = PrivateFiles(files=tuple(good), problems=tuple(problems))
            payload = ImportFilesPayload(
                who=Requester.of(who),
                scope=scope,
                layout=options.layout,
                private=private,
                force=options.force,
                kinds=options.kinds,
            )
            content = json.dumps(asdict(private), sort_keys=True)
            digest = sha256(content.encode()).hexdigest()
            return await self._queued(account, payload, f"{scope} {_words(options)} sent {digest}")

    async def _queued(self, account: Account, payload: ImportPayload, unique: str) -> Job:
        desk, who = self._desk, account.who
        now = desk.clock.now()
        job = NewJob(
            id=new_id(now),
            tenant=who.tenant,
            kind=IMPORT,
            payload=IMPORT_PAYLOAD.write(payload),
            created_at=now,
            created_by=who.actor,
            client=who.client,
            unique=unique,
            line=Line(name=f"import {who.identity}", room=(Room(most=WAITING, bytes=WAITING_BYTES),)),
        )
        jobs = desk.store.jobs
        if (same := await jobs.open_job(job.tenant, IMPORT, unique)) is not None:
            await account.note("unchanged", job=same)
            return await jobs.job(job.tenant, same)
        news = account.news("job.queued", scope=account.scope, data={"job": job.id, "kind": IMPORT})
        await desk.store.journal.note(Entries(audit=(account.row("ok"),), jobs=(job,), events=(news,)))
        # If somebody was quicker by a moment, theirs is there and ours is not.
        return await jobs.job(job.tenant, await jobs.open_job(job.tenant, IMPORT, unique) or job.id)

    async def import_now(
        self,
        who: Principal,
        path: str,
        *,
        scope: Scope,
        options: ImportOptions = PLAIN,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import a folder or a file of the server, and answer when it is done. Raises RemovalRefused."""
        return await self._import(who, path, scope, options, progress)

    async def _import(
        self,
        who: Principal,
        path: str | Path,
        scope: Scope,
        options: ImportOptions,
        progress: Progress | None,
    ) -> ImportReport:
        desk = self._desk
        async with desk.account(who, "record.import", scope=scope) as account:
            location = await self._allowed(who, path, scope, options)
            binding, records = options.binding, desk.store.records
            store = Bound(records, account, binding) if binding else Journaled(records, account)
            importer = desk.engines(who).importer(store, who.actor)
            report = await importer.import_path(location, scope=scope, options=options, progress=progress)
            await account.note(files=report.indexed_files, errors=report.errors, quarantined=report.quarantined)
            return report

    async def run_import(self, job: Job, payload: ImportPayload, progress: Progress) -> Mapping[str, Json]:
        """What a worker does with a job of `queue_import`. Raises Forbidden if the key that asked is not valid any more."""
        who = payload.who.principal(job.tenant)
        await self._desk.require_good(who, "record.import")
        if isinstance(payload, ImportFilesPayload):
            report = await self._import_files(who, payload, progress)
        else:
            # As it was resolved when it was asked for: a link that has taken its place since leads nowhere.
            report = await self._import(who, Path(payload.path), payload.scope, payload.options, progress)
        lists: dict[str, Json] = {
            name: _listed(getattr(report, name)) for name in ("problems", "left_out", "kept_edits", "warned")
        }
        withheld: list[Json] = [_withheld(file) for file in report.withheld]
        return {
            **asdict(report),
            **lists,
            "skipped_kinds": {**dict(report.skipped_kinds)},
            "withheld": withheld,
        }

    async def _import_files(self, who: Principal, payload: ImportFilesPayload, progress: Progress) -> ImportReport:
        files, problems = list(payload.private.files), list(payload.private.problems)
        async with self._desk.account(who, "record.import", scope=payload.scope) as account:
            await _require(self._desk, who, payload.scope, payload.options)
            return await self._import_folder(account, files, problems, payload.options, progress)

    async def import_files(
        self,
        who: Principal,
        files: Mapping[str, str],
        *,
        scope: Scope,
        options: ImportOptions = PLAIN,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import texts by their paths, and answer when it is done. Raises InvalidInput as `queue_files` does."""
        async with self._desk.account(who, "record.import", scope=scope) as account:
            await _require(self._desk, who, scope, options)
            uploads = [SentFile(path=path, text=text) for path, text in files.items()]
            check_paths(uploads)
            accepted_files, problems = await asyncio.to_thread(sifted, uploads, options.layout, options.kinds)
            return await self._import_folder(account, accepted_files, problems, options, progress)

    async def _import_folder(
        self,
        account: Account,
        files: Sequence[SentFile],
        problems: Problems,
        options: ImportOptions,
        progress: Progress | None,
    ) -> ImportReport:
        desk, scope = self._desk, cast(Scope, account.scope)
        importer = desk.engines(account.who).importer(Journaled(desk.store.records, account), account.who.actor)
        folder = await asyncio.to_thread(folder_of, files, problems, options.layout)
        report = await importer.import_folder(folder, scope=scope, options=options, progress=progress)
        report = replace(report, discovered_files=len(files) + len(problems))
        await account.note(files=report.indexed_files, errors=report.errors, quarantined=report.quarantined)
        return report

    async def _allowed(self, who: Principal, path: str | Path, scope: Scope, options: ImportOptions) -> Location:
        """Where the caller may import from. A text is what somebody asked for; a Path is resolved already, and checked again."""
        await _require(self._desk, who, scope, options)
        return await asyncio.to_thread(self._location, who, path)

    def _location(self, who: Principal, path: str | Path) -> Location:
        if isinstance(path, str) and (not path.strip() or "\0" in path):
            raise InvalidInput("Name the file or the folder to import.")
        real = _resolved(Path(path)) if isinstance(path, str) else path
        if who.operator:
            if real is None:
                raise PathNotFound(f"There is no file or folder {path}.", path=str(path))
            return Location(anchor=Path(real.anchor), parts=real.parts[1:])
        for root in map(_resolved, self._roots):
            if root is not None and real is not None and real.is_relative_to(root):
                location = Location(anchor=root, parts=real.relative_to(root).parts, barred=identities(self._private))
                if isinstance(path, str):
                    _refuse_barred(location)
                return location
        raise Forbidden("The path is not below a folder that may be imported. The operator sets import_roots.")

    # ---- exports

    async def export(
        self, who: Principal, scopes: Sequence[Scope] | None = None, *, everyone: bool = False
    ) -> AsyncIterator[str]:
        """The lines of an export of what the caller may read, each version in a scope in reach."""
        desk = self._desk
        async with desk.account(who, "record.export") as account:
            if everyone:
                account.details["everyone"] = True
            readable = await desk.readable(who, scopes, everyone=everyone)
            await account.note_read()
            is_visible = await self._exported(who)
        transfer = desk.engines(who).transfer(desk.store.records, await self._sessions(who, scopes, everyone=everyone))
        async for lines, _ in transfer.lines(readable, is_visible):
            yield "".join(lines)

    async def export_to(
        self,
        who: Principal,
        target: Path | TextIO,
        *,
        scopes: Sequence[Scope] | None = None,
        everyone: bool = False,
        progress: Progress | None = None,
    ) -> ExportCount:
        """As `export`, into a file, which is replaced only when all is written. How many records there were."""
        desk = self._desk
        total = await self._total(who, everyone=everyone) if progress and scopes is None else 0
        async with desk.account(who, "record.export") as account:
            if everyone:
                account.details["everyone"] = True
            readable = await desk.readable(who, scopes, everyone=everyone)
            await account.note_read()
            is_visible = await self._exported(who)
            sessions = await self._sessions(who, scopes, everyone=everyone)
            transfer = desk.engines(who).transfer(desk.store.records, sessions)
            return await transfer.export(target, scopes=readable, total=total, progress=progress, shown=is_visible)

    async def _exported(self, who: Principal) -> Shown | None:
        """Which versions of a record the caller's export has; None: all of them."""
        if reaches_all(who) and who.is_at_least("reviewer"):
            return None
        caller, keys = await self._desk.with_every_scope(who), await self._desk.store.keys.list_keys(who.tenant)

        def exported(versions: Sequence[Record]) -> list[Record]:
            return left_in(caller, keys, visible(caller, versions))

        return exported

    async def _sessions(
        self, who: Principal, scopes: Sequence[Scope] | None, *, everyone: bool
    ) -> SessionTransfer | None:
        """The caller's own, or everybody's, with all that was said in them; none with an export of some scopes."""
        if scopes is not None:
            return None
        filter = await History(self._desk).to_export(who, everyone=everyone)
        return SessionTransfer(self._desk.store.history, who.tenant, filter)

    async def _total(self, who: Principal, *, everyone: bool) -> int:
        """How many records an export will have; 0 if a damaged store cannot count them."""
        try:
            return (await Keeping(self._desk).stats(who, everyone=everyone)).records
        except StoreError:
            return 0

    async def load(self, who: Principal, source: Path | TextIO, *, progress: Progress | None = None) -> LoadReport:
        """Read what an export wrote, ids, versions and times unchanged. For admins: it brings its own past along."""
        desk = self._desk
        async with desk.account(who, "record.load") as account:
            require_role(who, "admin")
            store = _Reached(desk.store.records, account)
            sessions = SessionTransfer(
                desk.store.history,
                who.tenant,
                beside=partial(_loaded_session, account),
                check=partial(_check_owner, who),
            )
            try:
                return await desk.engines(who).transfer(store, sessions).load(source, progress=progress)
            finally:
                # An export of an older release has private notes of the governed door where everybody reads them.
                await desk.store.maintenance.bring_notes_home()


def _resolved(path: Path) -> Path | None:
    """The real path; None if links go round in circles, or there is no such user."""
    try:
        return path.expanduser().resolve()
    except (OSError, RuntimeError):
        return None


def _refuse_barred(location: Location) -> None:
    """So that whoever asks is refused at once, and not by the job. What counts is what the import opens."""
    path = location.path
    if location.barred & identities([path, *path.parents[: len(location.parts)]]):
        raise Forbidden("The folder belongs to Commonplace itself. Import another.")


async def _require(desk: Desk, who: Principal, scope: Scope, options: ImportOptions) -> None:
    require_role(who, "writer")
    await desk.require(who, scope)
    if options.layout not in _LAYOUTS:
        raise InvalidInput(f"{options.layout!r:.40} is no format. Use one of {', '.join(_LAYOUTS)}.")
    extensions(options.kinds)


def _words(options: ImportOptions) -> str:
    """What tells two imports of one folder apart."""
    words = [options.layout, "sync" if options.sync_deletes else "", "force" if options.force else "", *options.kinds]
    return " ".join(word for word in words if word)


def _check_owner(who: Principal, session: Session) -> None:
    require_scope(who, Scope("user", session.owner))


def _loaded_session(account: Account, session: Session) -> Entries:
    return Entries(audit=(account.row("ok", scope=Scope("user", session.owner), details={"session": session.id}),))


class _Reached(Journaled):
    """A store that takes in lives only where the caller reaches every scope they were in."""

    def __init__(self, store: RecordStore, account: Account) -> None:
        super().__init__(store, account)
        self._who = account.who

    async def load(self, lineages: Sequence[Lineage], *, beside: object = None) -> list[Written]:
        for lineage in lineages:
            for version in lineage.versions:
                require_scope(self._who, version.scope)
        return await super().load(lineages, beside=beside)


def _listed(files: Sequence[tuple[str, str]]) -> list[Json]:
    return [{"file": file, "reason": reason} for file, reason in files]


def _withheld(file: Withheld) -> Json:
    return {**asdict(file), "reasons": list[Json](file.reasons)}
