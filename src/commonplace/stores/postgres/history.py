"""Sessions and their messages."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from commonplace.errors import Conflict, NotFound, StoreError
from commonplace.ports.history import BesideExpiry, SessionFilter
from commonplace.ports.journal import Entries
from commonplace.stores.messages import (
    CHANGEABLE,
    MessageCandidate,
    candidates_a_word,
    message_of,
    question_words,
    ranked,
    read_cursor,
    session_of,
    text_words,
    words_of,
    write_cursor,
)
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.entries import json_text
from commonplace.stores.postgres.rows import ms
from commonplace.stores.postgres.session_leases import holds
from commonplace.stores.postgres.transactions import SHARE, Transactions
from commonplace.text.snippet import snippet
from commonplace.values.moment import to_ms
from commonplace.values.session import (
    MessageDraft,
    MessagePage,
    Session,
    SessionChanges,
    SessionHit,
    SessionMessage,
    SessionPage,
)
from commonplace.values.session_lease import SessionLost

_SQL = statements("sql/history.sql")
_PORTION: Final = 500
_MESSAGE: Final = 11
"""How many columns a message has."""
_NOT_WIPED: Final = "The sessions are gone, but old bytes of theirs may still be in the files of the database. Run VACUUM FULL sessions, messages."


class SqlHistory:
    """Satisfies the port `HistoryStore`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def create_session(self, tenant: str, session: Session, entries: Entries) -> Session:
        refused = Conflict("There is a session with that id.", id=session.id)
        params = _session_params(tenant, session)
        [row] = await self._transactions.change(_SQL["add_session"], params, entries, refused)
        return session_of(row)

    async def session(self, tenant: str, id: str) -> Session:
        session_rows = await self._transactions.ask(_SQL["session"], {"tenant": tenant, "id": id})
        if not session_rows:
            raise _no_session(id)
        return session_of(session_rows[0])

    async def sessions(self, tenant: str, filter: SessionFilter, limit: int, cursor: str | None = None) -> SessionPage:
        used, last_id = (None, None) if cursor is None else read_cursor(cursor)
        params = _filter_params(tenant, filter) | {"used": used, "last_id": last_id, "limit": limit + 1}
        sessions = [session_of(row) for row in await self._transactions.ask(_SQL["sessions"], params)]
        page = sessions[:limit]
        more = write_cursor(page[-1], to_ms(page[-1].updated_at)) if len(sessions) > limit and page else None
        return SessionPage(tuple(page), more)

    async def session_ids(self, tenant: str, filter: SessionFilter) -> list[str]:
        ids = await self._transactions.ask(_SQL["session_ids"], _filter_params(tenant, filter))
        return [id for (id,) in ids]

    async def session_workspaces(self, tenant: str) -> list[str]:
        workspaces = await self._transactions.ask(_SQL["session_workspaces"], {"tenant": tenant})
        return [workspace for (workspace,) in workspaces]

    async def change_session(
        self, tenant: str, id: str, changes: SessionChanges, at: datetime, entries: Entries
    ) -> Session:
        params = {"tenant": tenant, "id": id, "at": to_ms(at)} | {name: changes.get(name) for name in CHANGEABLE}
        [row] = await self._transactions.change(_SQL["change_session"], params, entries, _no_session(id))
        return session_of(row)

    async def append_messages(
        self,
        tenant: str,
        session: str,
        drafts: Sequence[MessageDraft],
        at: datetime,
        title: str | None = None,
        *,
        claim: str | None = None,
    ) -> list[SessionMessage]:
        place = {"tenant": tenant, "session": session}
        words = [words_of(tenant, draft) for draft in drafts]

        async def work(connection: Connection) -> list[SessionMessage]:
            last = await _lock_place(connection, place)
            if claim is not None and not await holds(connection, tenant, session, claim):
                raise SessionLost
            there = await _same_messages(connection, place, [draft.id for draft in drafts])
            visible, commands = 0, list[dict[str, Any]]()
            for draft, message_words in zip(drafts, words, strict=True):
                if draft.id not in there:
                    last, visible = last + 1, visible + draft.context_visible
                    params = _message_params(last, to_ms(at), draft)
                    commands.append(params | place | {"words": message_words})
                    there[draft.id] = message_of(session, [*params.values()])
            changes = {"last": last, "visible": visible, "at": to_ms(at), "title": title}
            await _add(connection, commands, place | changes)
            return [there[draft.id] for draft in drafts]

        return await self._transactions.write(work)

    async def messages(
        self,
        tenant: str,
        session: str,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = 100,
        hidden: bool = False,
    ) -> MessagePage:
        params: dict[str, Any] = {"tenant": tenant, "session": session, "hidden": hidden}

        async def work(connection: Connection) -> MessagePage:
            if not await rows(connection, _SQL["place"], params):
                raise _no_session(session)
            sql = _SQL["last_messages" if after is None else "first_messages"]
            bounds = {"after": after, "before": before, "limit": limit}
            message_rows = sorted(await rows(connection, sql, params | bounds))
            first = message_rows[0][0] if message_rows else (after or 0) + 1 if before is None else before
            last = message_rows[-1][0] if message_rows else first - 1
            [(earlier, later)] = await rows(connection, _SQL["is_beside"], params | {"first": first, "last": last})
            messages = tuple(message_of(session, row) for row in message_rows)
            return MessagePage(messages=messages, before=earlier, after=later)

        return await self._transactions.read(work)

    async def search_messages(
        self, tenant: str, terms: Sequence[str], filter: SessionFilter, limit: int
    ) -> list[SessionHit]:
        query = question_words(tenant, terms)
        if not query:
            return []
        params = _filter_params(tenant, filter) | {"words": query, "most": candidates_a_word(query)}

        async def work(connection: Connection) -> list[SessionHit]:
            candidates = {
                (session, position): MessageCandidate(session, position, at, array("q", words))
                for session, position, at, words in await rows(connection, _SQL["candidates"], params)
            }
            best = ranked([*candidates.values()], query, limit)
            places = {
                "tenant": tenant,
                "sessions": [candidate.session for candidate, _ in best],
                "positions": [candidate.place for candidate, _ in best],
            }
            message_rows = await rows(connection, _SQL["hits"], places)
            return [_hit(row, terms, score) for row, (_, score) in zip(message_rows, best, strict=True)]

        return await self._transactions.read(work)

    async def delete_session(self, tenant: str, id: str, entries: Entries) -> int:
        place = {"tenant": tenant, "session": id}

        async def work(connection: Connection) -> tuple[int, Entries]:
            await connection.execute(SHARE)
            session_rows = await rows(connection, _SQL["drop_session"], place)
            if not session_rows:
                raise _no_session(id)
            count = await _drop_messages(connection, session_rows)
            await self._transactions.keep(connection, entries)
            return count, entries

        return await self._transactions.write_beside(work)

    async def purge_person(self, tenant: str, owner: str, entries: Entries) -> int:
        params = {"tenant": tenant, "owner": owner}

        async def work(connection: Connection) -> tuple[tuple[int, int], Entries]:
            await connection.execute(SHARE)
            session_rows = await rows(connection, _SQL["drop_sessions_of"], params)
            await _drop_messages(connection, session_rows)
            messages = (await connection.execute(_SQL["empty_messages"], params)).rowcount
            await self._transactions.keep(connection, entries)
            return (len(session_rows), messages), entries

        count, messages = await self._transactions.write_beside(work)
        if count or messages:
            try:
                await self._transactions.database.outside(_wipe)
            except StoreError as error:
                raise type(error)(_NOT_WIPED) from error
        return count

    async def expire_sessions(self, before: datetime, limit: int, beside: BesideExpiry) -> list[tuple[str, str]]:
        params = {"before": to_ms(before), "limit": limit}

        async def work(connection: Connection) -> tuple[list[tuple[str, str]], Entries]:
            await connection.execute(SHARE)
            session_rows = await rows(connection, _SQL["expire_sessions"], params)
            await _drop_messages(connection, session_rows)
            ids = [(tenant, id) for tenant, id in session_rows]
            entries = beside(ids) if ids else Entries()
            await self._transactions.keep(connection, entries)
            return ids, entries

        return await self._transactions.write_beside(work)

    async def load_session(self, tenant: str, session: Session, entries: Entries) -> bool:
        params = _session_params(tenant, session)

        async def work(connection: Connection) -> tuple[bool, Entries]:
            await connection.execute(SHARE)
            if not await rows(connection, _SQL["add_session"], params):
                return False, Entries()
            await self._transactions.keep(connection, entries)
            return True, entries

        return await self._transactions.write_beside(work)

    async def load_messages(self, tenant: str, session: str, messages: Sequence[SessionMessage]) -> int:
        place = {"tenant": tenant, "session": session}
        words = {message.id: words_of(tenant, message) for message in messages}

        async def work(connection: Connection) -> int:
            last = await _lock_place(connection, place)
            there = await _same_messages(connection, place, [message.id for message in messages])
            new = {message.id: message for message in messages if message.id not in there}
            positions = [message.position for message in new.values()]
            if len(set(positions)) < len(positions) or await rows(
                connection, _SQL["same_positions"], place | {"positions": positions}
            ):
                raise Conflict("The session has another message at that position.", id=session)
            commands = [
                _message_params(message.position, to_ms(message.at), message) | place | {"words": words[message.id]}
                for message in new.values()
            ]
            visible = sum(message.context_visible for message in new.values())
            changes = {"last": max([last, *positions]), "visible": visible, "at": 0, "title": None}
            await _add(connection, commands, place | changes)
            return len(new)

        return await self._transactions.write(work)

    async def index_messages(self) -> int:
        place = {"tenant": "", "session": "", "position": 0}
        count = 0
        while portion := await self._transactions.ask(_SQL["found_messages"], place | {"limit": _PORTION}):
            commands = [
                {"tenant": tenant, "session": session, "position": position, "words": text_words(tenant, text)}
                for tenant, session, position, text in portion
            ]

            async def work(connection: Connection, commands: Sequence[dict[str, Any]] = commands) -> None:
                await connection.execute(SHARE)
                await connection.cursor().executemany(_SQL["set_words"], commands)

            await self._transactions.write(work)
            count += len(portion)
            tenant, session, position, _ = portion[-1]
            place = {"tenant": tenant, "session": session, "position": position}
        return count


def _session_params(tenant: str, session: Session) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "id": session.id,
        "owner": session.owner,
        "agent": session.agent,
        "created_at": to_ms(session.created_at),
        "updated_at": to_ms(session.updated_at),
        "workspace": session.workspace,
        "folder": session.folder,
        "title": session.title,
        "model": session.model,
        "source": session.source,
        "shared": session.shared,
        "archived_at": ms(session.archived_at),
    }


def _filter_params(tenant: str, filter: SessionFilter) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "owner": filter.owner,
        "own_in": None if filter.own_in is None else list(filter.own_in),
        "shared_in": list(filter.shared_in),
        "agent": filter.agent,
        "workspace": filter.workspace,
        "session": filter.session,
        "archived": filter.archived,
    }


def _message_params(position: int, at: int, message: MessageDraft | SessionMessage) -> dict[str, Any]:
    """In the order of the columns."""
    return {
        "position": position,
        "id": message.id,
        "at": at,
        "role": message.role,
        "kind": message.kind,
        "hidden": not message.context_visible,
        "run": message.run,
        "call": message.call,
        "speaker": message.speaker,
        "text": message.text,
        "data": json_text(dict(message.data)) if message.data else None,
    }


def _no_session(id: str) -> NotFound:
    return NotFound("There is no such session.", id=id)


async def _lock_place(connection: Connection, place: dict[str, Any]) -> int:
    """The position of the last message, which nobody moves until the transaction ends."""
    async with connection.pipeline():
        await connection.execute(SHARE)
        cursor = await connection.execute(_SQL["lock_place"], place, binary=True)
    row = await cursor.fetchone()
    if row is None:
        raise _no_session(place["session"])
    return row[0]


async def _same_messages(
    connection: Connection, place: dict[str, Any], ids: Sequence[str]
) -> dict[str, SessionMessage]:
    message_rows = await rows(connection, _SQL["same_messages"], place | {"ids": list(ids)})
    messages = [message_of(place["session"], row) for row in message_rows]
    return {message.id: message for message in messages}


async def _add(connection: Connection, commands: Sequence[dict[str, Any]], changes: dict[str, Any]) -> None:
    async with connection.pipeline():
        for command in commands:
            await connection.execute(_SQL["add_message"], command)
        await connection.execute(_SQL["renew_session"], changes)


async def _drop_messages(connection: Connection, sessions: Sequence[Sequence[str]]) -> int:
    params = {"tenants": [tenant for tenant, _ in sessions], "sessions": [id for _, id in sessions]}
    await connection.execute(_SQL["drop_leases"], params)
    return (await connection.execute(_SQL["drop_messages"], params)).rowcount


def _hit(row: Sequence[Any], terms: Sequence[str], score: float) -> SessionHit:
    session = session_of(row[_MESSAGE:])
    message = message_of(session.id, row[:_MESSAGE])
    return SessionHit(session=session, message=message, snippet=snippet(message.text, terms), score=score)


async def _wipe(connection: Connection) -> None:
    """What held the texts is written anew: VACUUM alone leaves old bytes in the pages."""
    await connection.execute(b"VACUUM FULL sessions, messages")
