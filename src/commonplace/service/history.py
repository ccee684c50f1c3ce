"""
The history: sessions and what was said in them, each in the reach of whose it is.

A session is its owner's: the subject who began it. If it is shared, whoever reaches its workspace reads it and speaks in it; only its owner
and an admin change or delete it. A key of a person that reaches some workspaces only sees that person's sessions about those. What is
out of reach is not found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from commonplace.errors import Forbidden, InvalidInput, NotFound
from commonplace.governance.access import reaches_all, require_role
from commonplace.governance.work_folders import WorkFolders
from commonplace.history.message_text import check_draft, check_title, title_of
from commonplace.memory.validate import MAX_LABEL, check_label
from commonplace.ports.history import SessionFilter
from commonplace.ports.journal import Entries
from commonplace.service.account import Account
from commonplace.service.desk import Desk
from commonplace.service.erasure import EraseRuns, erase_nothing
from commonplace.text.analyse import query_terms
from commonplace.values.event import News
from commonplace.values.line import check_line
from commonplace.values.moment import new_id, utc
from commonplace.values.principal import CHANNEL_SUBJECT, KEY_SUBJECT, LOCAL, Principal
from commonplace.values.scope import Scope
from commonplace.values.session import (
    ArchiveChoice,
    MessageDraft,
    MessagePage,
    Session,
    SessionChanges,
    SessionFields,
    SessionFilters,
    SessionHit,
    SessionMessage,
    SessionPage,
)
from commonplace.values.session_state import ActivityState

MOST_SESSIONS: Final = 200
MOST_MESSAGES: Final = 1_000
MOST_HITS: Final = 100
MAX_QUESTION: Final = 10_000
_ENDED_AT_ONCE: Final = 200
_TAKEN: Final = frozenset({"search", "live"})
"""What stands where a session's id would, in the addresses of the native door."""
_ARCHIVED: Final[dict[ArchiveChoice, bool | None]] = {"no": False, "yes": True, "any": None}


class History:
    """`retention`: for how long a session is kept that nobody uses; None: for ever. `folders`: where its tools may work."""

    def __init__(
        self,
        desk: Desk,
        *,
        retention: timedelta | None = None,
        folders: WorkFolders | None = None,
        erase_runs: EraseRuns = erase_nothing,
    ) -> None:
        self._desk = desk
        self._erase_runs = erase_runs
        self._retention = retention
        self._folders = folders or WorkFolders()

    # ---- sessions

    async def create(self, who: Principal, agent: str, fields: SessionFields) -> Session:
        """Begin a session with an agent. Its memory is the caller's. Raises Conflict: the id is taken; ScopeTaken: it is the name of another's memory."""
        desk = self._desk
        async with desk.account(who, "session.create") as account:
            require_role(who, "writer")
            session = self._new(who, agent, fields)
            account.scope = scope_of(session)
            if session.workspace is not None:
                await desk.require(who, Scope("workspace", session.workspace))
            await self._require_folder(who, session.folder)
            if not _owns(who, session):
                raise Forbidden("This key reaches some workspaces only. Name the workspace that the session is about.")
            entries = _told(account, "session.created", session)
            # Else the memory of the session would be whoever's speaks in it first, or knew its id before.
            claims = tuple(replace(claim, strict=True) for claim in account.claims([Scope("session", session.id)]))
            return await desk.store.history.create_session(who.tenant, session, replace(entries, claims=claims))

    async def session(self, who: Principal, id: str) -> Session:
        """Raises NotFound."""
        async with self._desk.account(who, "session.get") as account:
            return await self._found(who, account, id)

    async def sessions(
        self, who: Principal, filters: SessionFilters, *, limit: int = 50, cursor: str | None = None
    ) -> SessionPage:
        """Those in reach, the one used last first. Archived ones only if they are asked for."""
        async with self._desk.account(who, "session.list") as account:
            _check_limit(limit, MOST_SESSIONS, "sessions")
            check_line("the cursor", cursor)
            filter = await self._filter(who, account, filters, filters.get("archived", "no"))
            page = await self._desk.store.history.sessions(who.tenant, filter, limit, cursor)
            if filters.get("everyone"):
                await account.note_read()
            return page

    async def among(self, who: Principal, ids: Sequence[str], *, everyone: bool = False) -> list[Session]:
        """Those of these sessions that a list would show the caller; nothing is said of the others."""
        async with self._desk.account(who, "session.list") as account:
            await self._filter(who, account, {"everyone": everyone}, "any")
            store, sessions = self._desk.store.history, list[Session]()
            for id in ids:
                with suppress(NotFound):
                    sessions.append(await store.session(who.tenant, id))
            if everyone:
                await account.note_read()
                return sessions
            return [session for session in sessions if _owns(who, session) or _shares(who, session)]

    async def tell_activity(self, tenant: str, id: str, state: ActivityState, backlog: int) -> None:
        """Tell those who reach a session what it does now. It is an event and no more: nobody did anything to it."""
        try:
            session = await self._desk.store.history.session(tenant, id)
        except NotFound:
            return
        news = News(
            type="session.activity",
            tenant=tenant,
            at=self._desk.clock.now(),
            scope=scope_of(session),
            data={"id": id, "state": state, "queued": backlog},
        )
        await self._desk.store.journal.note(Entries(events=(news,)))

    async def change(self, who: Principal, id: str, changes: SessionChanges) -> Session:
        """Rename, archive, share. For its owner, and for admins. Raises NotFound."""
        desk = self._desk
        async with desk.account(who, "session.change") as account:
            require_role(who, "writer")
            session = await self._own(who, account, id)
            checked = _check_changes(session, changes)
            await self._require_folder(who, checked.get("folder"))
            if not checked:
                await account.note("unchanged", session=session.id)
                return session
            account.details["changed"] = [*sorted(checked)]
            entries = _told(
                account, "session.changed", replace(session, shared=checked.get("shared") or session.shared)
            )
            return await desk.store.history.change_session(
                who.tenant, session.id, checked, utc(desk.clock.now()), entries
            )

    async def own(self, who: Principal, id: str) -> Session:
        """One that the caller may change and delete. Raises NotFound; Forbidden: it is shared with them."""
        async with self._desk.account(who, "session.get") as account:
            require_role(who, "writer")
            return await self._own(who, account, id)

    async def delete(self, who: Principal, id: str) -> int:
        """Remove a session with every message, for good; answers how many. For its owner, and for admins. Raises NotFound."""
        desk = self._desk
        async with desk.store.maintenance.removal(), desk.account(who, "session.delete") as account:
            require_role(who, "writer")
            session = await self._own(who, account, id)
            # First: whoever is stopped in between finds the session, and deletes it again.
            account.details["runs"] = await self._erase_runs(who.tenant, session.owner, session.id)
            entries = _told(account, "session.deleted", session)
            return await desk.store.history.delete_session(who.tenant, session.id, entries)

    # ---- messages

    async def append(
        self, who: Principal, session: str, drafts: Sequence[MessageDraft], *, claim: str | None = None
    ) -> list[SessionMessage]:
        """
        Keep messages at the end, all or none; one whose id is there already is answered as it is. The first that a user says gives the
        session its title. Raises NotFound, and SessionLost: the session is not held by this `claim` any more.
        """
        desk = self._desk
        async with desk.account(who, "session.append") as account:
            require_role(who, "writer")
            there = await self._found(who, account, session)
            checked = [check_draft(draft) for draft in drafts]
            title = None if there.title else _title_of(checked)
            return await desk.store.history.append_messages(
                who.tenant, there.id, checked, utc(desk.clock.now()), title, claim=claim
            )

    async def messages(
        self,
        who: Principal,
        session: str,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = 100,
        hidden: bool = False,
    ) -> MessagePage:
        """
        Those behind `after` (the first of them), or before `before` (the last), else the last ones. Hidden events only if asked for: no
        door does. Raises NotFound.
        """
        desk = self._desk
        async with desk.account(who, "session.read") as account:
            _check_limit(limit, MOST_MESSAGES, "messages")
            there = await self._found(who, account, session)
            return await desk.store.history.messages(
                who.tenant, there.id, after=_position(after), before=_position(before), limit=limit, hidden=hidden
            )

    async def search(
        self, who: Principal, text: str, filters: SessionFilters, *, session: str | None = None, limit: int = 10
    ) -> list[SessionHit]:
        """
        What users and assistants said in sessions in reach, by its words: the best of each session first. Archived sessions, too, unless
        `archived` says otherwise. With `session` in that one alone. Raises NotFound: there is no such session.
        """
        desk = self._desk
        async with desk.account(who, "session.search") as account:
            _check_limit(limit, MOST_HITS, "hits")
            if len(text) > MAX_QUESTION:
                raise InvalidInput(f"A question has at most {MAX_QUESTION:,} characters.")
            filter = await self._filter(who, account, filters, filters.get("archived", "any"))
            if session is not None:
                there = await self._found(who, account, session)
                filter = replace(filter, session=there.id, owner=None)
            hits = await desk.store.history.search_messages(who.tenant, list(query_terms(text)), filter, limit)
            await account.note_read(found=len(hits))
            return hits

    async def to_export(self, who: Principal, *, everyone: bool) -> SessionFilter:
        """Which sessions go with an export of the caller's: their own, archived or not; `everyone`: all. Accounted for by the export."""
        if everyone and reaches_all(who):
            return SessionFilter(owner=None, archived=None)
        workspaces = () if _is_whole(who) else await self._desk.store.history.session_workspaces(who.tenant)
        within = tuple(workspace for workspace in workspaces if who.reaches(Scope("workspace", workspace)))
        return SessionFilter(owner=who.subject, own_in=_own_in(who, within), archived=None)

    # ---- how long it is kept

    async def expire(self) -> int:
        """Remove the sessions of every tenant that nobody has used for long; answers how many. For the daemon's own upkeep."""
        desk, retention, count = self._desk, self._retention, 0
        if retention is None:
            return 0
        async with desk.store.maintenance.removal():
            while ended := await desk.store.history.expire_sessions(
                desk.clock.now() - retention, _ENDED_AT_ONCE, partial(_expired, desk)
            ):
                count += len(ended)
        return count

    # ---- whose

    async def _found(self, who: Principal, account: Account, id: str) -> Session:
        """Raises NotFound: there is none, or it is out of reach, which the audit tells apart and the caller cannot."""
        account.details["session"] = id[:MAX_LABEL]
        try:
            session = await self._desk.store.history.session(who.tenant, id) if id.isprintable() else None
        except NotFound:
            session = None
        if session is None:
            raise NotFound("There is no such session.")
        if not _reaches(who, session):
            await account.note_denied(scope_of(session))
            raise NotFound("There is no such session.")
        account.scope = scope_of(session)
        return session

    async def _require_folder(self, who: Principal, folder: str | None) -> None:
        """Raises FolderForbidden, InvalidInput."""
        if folder is not None:
            await asyncio.to_thread(self._folders.require, who, folder)

    async def _own(self, who: Principal, account: Account, id: str) -> Session:
        """One that the caller may change. Raises Forbidden: it is shared with them, and somebody else's."""
        session = await self._found(who, account, id)
        if not (_owns(who, session) or _governs(who, session)):
            raise Forbidden("The session is somebody else's. Only its owner and an admin may change it.")
        return session

    async def _filter(
        self, who: Principal, account: Account, filters: SessionFilters, archived: ArchiveChoice
    ) -> SessionFilter:
        if archived not in _ARCHIVED:
            raise InvalidInput(f"{archived!r:.40} is none of {', '.join(_ARCHIVED)}.")
        narrowed = SessionFilter(
            owner=who.subject,
            agent=filters.get("agent"),
            workspace=filters.get("workspace"),
            archived=_ARCHIVED[archived],
        )
        for name in (narrowed.agent, narrowed.workspace):
            check_line("a name", name)
        if filters.get("everyone"):
            require_role(who, "admin")
            if not reaches_all(who):
                raise Forbidden("Everybody's sessions are for an admin's key that reaches every scope.")
            account.details["everyone"] = True
            return replace(narrowed, owner=None)
        workspaces = await self._desk.store.history.session_workspaces(who.tenant)
        within = tuple(workspace for workspace in workspaces if who.reaches(Scope("workspace", workspace)))
        return replace(narrowed, shared_in=within, own_in=_own_in(who, within))

    # ---- what is kept

    def _new(self, who: Principal, agent: str, fields: SessionFields) -> Session:
        now = utc(self._desk.clock.now())
        title, shared, workspace = fields.get("title"), fields.get("shared", False), fields.get("workspace")
        if shared and workspace is None:
            raise InvalidInput("A session is shared with whoever reaches its workspace. Name the workspace.")
        return Session(
            id=_check_id(fields.get("id") or new_id(now)),
            owner=who.subject,
            agent=check_label("agent", agent),
            created_at=now,
            updated_at=now,
            workspace=workspace,
            folder=check_line("the folder", fields.get("folder")),
            title=None if title is None else check_title(title),
            model=_optional("model", fields.get("model")),
            source=check_label("source", fields.get("source", "api")),
            shared=shared,
        )


def _check_changes(session: Session, changes: SessionChanges) -> SessionChanges:
    """What of it is a change. Raises InvalidInput."""
    checked: SessionChanges = {}
    if (title := changes.get("title")) is not None:
        checked["title"] = check_title(title)
    if (model := changes.get("model")) is not None:
        checked["model"] = check_label("model", model)
    if (folder := changes.get("folder")) is not None:
        checked["folder"] = check_line("the folder", folder)
    if (shared := changes.get("shared")) is not None:
        if shared and session.workspace is None:
            raise InvalidInput("A session without a workspace cannot be shared: nobody would reach it.")
        checked["shared"] = shared
    if (archived := changes.get("archived")) is not None:
        checked["archived"] = archived
    state = {
        "title": session.title,
        "model": session.model,
        "folder": session.folder,
        "shared": session.shared,
        "archived": session.archived_at is not None,
    }
    is_change = any(state[name] != value for name, value in checked.items())
    return checked if is_change else {}


def _is_whole(who: Principal) -> bool:
    """Whether the key sees all that is its subject's: it is not one of several keys of a person, or it is not narrowed, and nobody listens."""
    if who.overheard:
        return False
    return who.scopes is None or who.subject.startswith(KEY_SUBJECT) or who.reaches(who.home)


def _own_in(who: Principal, within: tuple[str, ...]) -> tuple[str, ...] | None:
    """The workspaces about which the caller's own sessions are found: None is all of them. Others who listen are to hear of shared ones alone."""
    if who.overheard:
        return ()
    return None if _is_whole(who) else within


def _owns(who: Principal, session: Session) -> bool:
    if session.owner != who.subject or (who.overheard and not session.shared):
        return False
    return _is_whole(who) or (session.workspace is not None and who.reaches(Scope("workspace", session.workspace)))


def _governs(who: Principal, session: Session) -> bool:
    """An admin who reaches what is the owner's."""
    return who.role == "admin" and who.reaches(Scope("user", session.owner))


def _reaches(who: Principal, session: Session) -> bool:
    return _owns(who, session) or _governs(who, session) or _is_named(who, session) or _shares(who, session)


def _shares(who: Principal, session: Session) -> bool:
    return session.shared and session.workspace is not None and who.reaches(Scope("workspace", session.workspace))


def _is_named(who: Principal, session: Session) -> bool:
    """A session of a room is a channel's, and is for whoever speaks there: their patterns name it, and only while they speak."""
    name = f"session:{session.id}"
    return session.owner.startswith(CHANNEL_SUBJECT) and any(pattern.text == name for pattern in who.scopes or ())


def scope_of(session: Session) -> Scope:
    """Who hears of it, and reads of it in the audit."""
    if session.shared and session.workspace is not None:
        return Scope("workspace", session.workspace)
    return Scope("user", session.owner)


def _told(account: Account, type: str, session: Session) -> Entries:  # noqa: A002 - as events call it
    account.details["session"] = session.id
    scope = scope_of(session)
    news = account.news(type, scope=scope, data={"id": session.id, "agent": session.agent})
    return Entries(audit=(account.row("ok", scope=scope),), events=(news,))


def _expired(desk: Desk, ended: Sequence[tuple[str, str]]) -> Entries:
    entries = Entries()
    for tenant, id in ended:
        who = Principal(subject=LOCAL, name="daemon", tenant=tenant, role="admin", operator=True, door="daemon")
        account = desk.account(who, "session.expire")
        row = account.row("ok", details={"session": id})
        news = account.news("session.deleted", data={"id": id}, admins=True)
        entries = Entries(audit=(*entries.audit, row), events=(*entries.events, news))
    return entries


def _title_of(drafts: Sequence[MessageDraft]) -> str | None:
    for draft in drafts:
        if draft.role == "user" and draft.kind == "text" and draft.context_visible and (title := title_of(draft.text)):
            return title
    return None


def _check_id(id: str) -> str:
    if not 1 <= len(id) <= 128 or not id.isprintable() or id in _TAKEN:
        raise InvalidInput("The id of a session has 1 to 128 printable characters, and is neither `search` nor `live`.")
    return id


def _optional(what: str, label: str | None) -> str | None:
    return None if label is None else check_label(what, label)


def _check_limit(limit: int, most: int, what: str) -> None:
    if not 1 <= limit <= most:
        raise InvalidInput(f"A page has 1 to {most:,} {what}.")


def _position(position: int | None) -> int | None:
    if position is not None and not 0 <= position < 1 << 53:
        raise InvalidInput("A position is a whole number, from 1.")
    return position
