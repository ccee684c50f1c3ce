# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Sessions and their messages."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import apsw

from commonplace.errors import Conflict, NotFound, StoreFull
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
from commonplace.stores.queries import load
from commonplace.stores.sqlite.reserve import removing
from commonplace.stores.sqlite.rows import Row, Where, ms, one, rows, to_json
from commonplace.stores.sqlite.session_leases import holds
from commonplace.stores.sqlite.transactions import OLD_LOG, Transactions
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

SQL = load("commonplace.stores.sqlite", "sql/history.sql")
_PORTION: Final = 500
_MESSAGE: Final = 11
"""How many columns a message has."""


class SqlHistory:
    """Satisfies the port `HistoryStore`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def create_session(self, tenant: str, session: Session, entries: Entries) -> Session:
        def create(db: apsw.Connection) -> Session:
            db.execute(SQL["add_session"], _session_values(tenant, session))
            if not db.changes():
                raise Conflict("There is a session with that id.", id=session.id)
            return _session(db, tenant, session.id)

        return await self._transactions.keep(create, entries)

    async def session(self, tenant: str, id: str) -> Session:
        return await self._transactions.read(lambda db: _session(db, tenant, id))

    async def sessions(self, tenant: str, filter: SessionFilter, limit: int, cursor: str | None = None) -> SessionPage:
        clause = _clause(tenant, filter)
        if cursor is not None:
            used, id = read_cursor(cursor)
            clause.conditions.append("(s.updated_at, s.id) < (:used, :id)")
            clause.bound |= {"used": used, "id": id}
        sql = f"{SQL['sessions']} {clause} ORDER BY s.updated_at DESC, s.id DESC LIMIT :limit"
        bound = clause.bound | {"limit": limit + 1}
        sessions = [session_of(row) for row in await self._transactions.read(lambda db: rows(db, sql, bound))]
        page = sessions[:limit]
        more = write_cursor(page[-1], to_ms(page[-1].updated_at)) if len(sessions) > limit and page else None
        return SessionPage(tuple(page), more)

    async def session_ids(self, tenant: str, filter: SessionFilter) -> list[str]:
        clause = _clause(tenant, filter)
        sql = f"{SQL['session_ids']} {clause} ORDER BY s.id"
        return [id for (id,) in await self._transactions.read(lambda db: rows(db, sql, clause.bound))]

    async def session_workspaces(self, tenant: str) -> list[str]:
        workspaces = await self._transactions.read(lambda db: rows(db, SQL["session_workspaces"], (tenant,)))
        return [workspace for (workspace,) in workspaces]

    async def change_session(
        self, tenant: str, id: str, changes: SessionChanges, at: datetime, entries: Entries
    ) -> Session:
        bound = {"tenant": tenant, "id": id, "at": to_ms(at)} | {name: changes.get(name) for name in CHANGEABLE}

        def change(db: apsw.Connection) -> Session:
            db.execute(SQL["change_session"], bound)
            return _session(db, tenant, id)

        return await self._transactions.keep(change, entries)

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
        words = [_packed(words_of(tenant, draft)) for draft in drafts]

        def append(db: apsw.Connection) -> list[SessionMessage]:
            number, last = _place(db, tenant, session)
            if claim is not None and not holds(db, tenant, session, claim):
                raise SessionLost
            result: list[SessionMessage] = []
            visible = 0
            for draft, blob in zip(drafts, words, strict=True):
                row = one(db, SQL["same_message"], (number, draft.id))
                if row is None:
                    last += 1
                    visible += draft.context_visible
                    row = _add(db, number, last, to_ms(at), draft, blob)
                result.append(message_of(session, row))
            bound = {"number": number, "last": last, "visible": visible, "at": to_ms(at), "title": title}
            db.execute(SQL["renew_session"], bound)
            return result

        return await self._transactions.write(append)

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
        def read(db: apsw.Connection) -> MessagePage:
            number, _ = _place(db, tenant, session)
            clause = Where()
            clause.add("session = {}", number)
            clause.add("hidden <= {}", int(hidden))
            if after is not None:
                clause.add("position > {}", after)
            if before is not None:
                clause.add("position < {}", before)
            order = "DESC" if after is None else "ASC"
            sql = f"{SQL['messages']} {clause} ORDER BY position {order} LIMIT :limit"
            message_rows = sorted(rows(db, sql, clause.bound | {"limit": limit}))
            first = message_rows[0][0] if message_rows else (after or 0) + 1 if before is None else before
            last = message_rows[-1][0] if message_rows else first - 1
            bound = {"number": number, "first": first, "last": last, "hidden": int(hidden)}
            earlier, later = one(db, SQL["is_beside"], bound) or (0, 0)
            messages = tuple(message_of(session, row) for row in message_rows)
            return MessagePage(messages=messages, before=bool(earlier), after=bool(later))

        return await self._transactions.read(read)

    async def search_messages(
        self, tenant: str, terms: Sequence[str], filter: SessionFilter, limit: int
    ) -> list[SessionHit]:
        query = question_words(tenant, terms)
        if not query:
            return []
        clause = _clause(tenant, filter)
        clause.conditions.append("w.message_words MATCH :word")
        sql = f"{SQL['candidates']} {clause} ORDER BY w.rowid DESC LIMIT :most"
        most = candidates_a_word(query)

        def search(db: apsw.Connection) -> list[SessionHit]:
            candidates: dict[int, MessageCandidate] = {}
            for word in query:
                bound = clause.bound | {"word": f'"{_token(word)}"', "most": most}
                for session, number, blob in rows(db, sql, bound):
                    candidates.setdefault(number, MessageCandidate(session, number, number, _unpacked(blob)))
            return [_hit(db, best.place, terms, score) for best, score in ranked([*candidates.values()], query, limit)]

        return await self._transactions.read(search)

    async def delete_session(self, tenant: str, id: str, entries: Entries) -> int:
        def delete(db: apsw.Connection) -> int:
            number, _ = _place(db, tenant, id)
            return _drop(db, number)

        count = await self._transactions.keep(delete, entries)
        await self._empty_log()
        return count

    async def purge_person(self, tenant: str, owner: str, entries: Entries) -> int:
        def purge(db: apsw.Connection) -> int:
            numbers = [number for (number,) in rows(db, SQL["sessions_of"], (tenant, owner))]
            for number in numbers:
                _drop(db, number)
            for number, is_indexed in rows(db, SQL["said_by"], {"tenant": tenant, "owner": owner}):
                db.execute(SQL["empty_message"], (number,))
                if is_indexed:
                    db.execute(SQL["drop_word"], (number,))
            db.execute(SQL["merge_words"])
            return len(numbers)

        count = await self._transactions.keep(purge, entries)
        await self._empty_log()
        return count

    async def expire_sessions(self, before: datetime, limit: int, beside: BesideExpiry) -> list[tuple[str, str]]:
        def expire(db: apsw.Connection) -> list[tuple[str, str]]:
            idle_rows = rows(db, SQL["unused_sessions"], (to_ms(before), limit))
            for number, _, _ in idle_rows:
                _drop(db, number)
            return [(tenant, id) for _, tenant, id in idle_rows]

        ids = await self._transactions.keep_beside(expire, lambda ids: beside(ids) if ids else Entries())
        if ids:
            await self._empty_log()
        return ids

    async def load_session(self, tenant: str, session: Session, entries: Entries) -> bool:
        def put(db: apsw.Connection) -> bool:
            db.execute(SQL["add_session"], _session_values(tenant, session))
            return bool(db.changes())

        return await self._transactions.keep_beside(put, lambda is_new: entries if is_new else Entries())

    async def load_messages(self, tenant: str, session: str, messages: Sequence[SessionMessage]) -> int:
        words = [_packed(words_of(tenant, message)) for message in messages]

        def put(db: apsw.Connection) -> int:
            number, last = _place(db, tenant, session)
            count = visible = 0
            for message, blob in zip(messages, words, strict=True):
                if one(db, SQL["same_message"], (number, message.id)) is not None:
                    continue
                if one(db, SQL["same_position"], (number, message.position)) is not None:
                    raise Conflict("The session has another message at that position.", id=session)
                _add(db, number, message.position, to_ms(message.at), message, blob)
                count, visible, last = count + 1, visible + message.context_visible, max(last, message.position)
            bound = {"number": number, "last": last, "visible": visible, "at": 0, "title": None}
            db.execute(SQL["renew_session"], bound)
            return count

        return await self._transactions.write(put)

    async def index_messages(self) -> int:
        await self._transactions.change(SQL["clear_words"], ())
        after = count = 0
        while True:

            def index(db: apsw.Connection, after: int = after) -> tuple[int, int]:
                portion = rows(db, SQL["found_messages"], (after, _PORTION))
                for number, tenant, text in portion:
                    blob = _packed(text_words(tenant, text))
                    db.execute(SQL["set_words"], (blob, number))
                    if blob is not None:
                        db.execute(SQL["drop_word"], (number,))
                        db.execute(SQL["add_words"], (number, _indexed(blob)))
                return len(portion), portion[-1][0] if portion else after

            more, after = await self._transactions.write(index)
            if not more:
                return count
            count += more

    async def _empty_log(self) -> None:
        """What was removed is in the log until that is emptied."""
        self._transactions.remember_log()
        if not await self._transactions.truncate_log() and not removing.get():
            raise StoreFull(OLD_LOG)


def _session_values(tenant: str, session: Session) -> dict[str, Any]:
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
        "shared": int(session.shared),
        "archived_at": ms(session.archived_at),
    }


def _clause(tenant: str, filter: SessionFilter) -> Where:
    clause = Where()
    clause.add("s.tenant = {}", tenant)
    if filter.owner is not None:
        clause.bound["owner"] = filter.owner
        own = "s.owner = :owner"
        if filter.own_in is not None:
            clause.bound["own_in"] = json.dumps(filter.own_in)
            own = f"({own} AND s.workspace IN (SELECT value FROM json_each(:own_in)))"
        shared = "s.shared = 1 AND s.workspace IN (SELECT value FROM json_each(:shared_in))"
        if filter.shared_in:
            clause.bound["shared_in"] = json.dumps(filter.shared_in)
            own = f"({own} OR {shared})"
        clause.conditions.append(own)
    for column, value in (("agent", filter.agent), ("workspace", filter.workspace), ("id", filter.session)):
        if value is not None:
            clause.add(f"s.{column} = {{}}", value)
    if filter.archived is not None:
        clause.add("(s.archived_at IS NOT NULL) = {}", int(filter.archived))
    return clause


def _session(db: apsw.Connection, tenant: str, id: str) -> Session:
    row = one(db, f"{SQL['sessions']} WHERE s.tenant = ? AND s.id = ?", (tenant, id))
    if row is None:
        raise _no_session(id)
    return session_of(row)


def _place(db: apsw.Connection, tenant: str, id: str) -> tuple[int, int]:
    row = one(db, SQL["place"], (tenant, id))
    if row is None:
        raise _no_session(id)
    return row[0], row[1]


def _no_session(id: str) -> NotFound:
    return NotFound("There is no such session.", id=id)


def _add(
    db: apsw.Connection,
    session: int,
    position: int,
    at: int,
    message: MessageDraft | SessionMessage,
    blob: bytes | None,
) -> Row:
    bound = {
        "position": position,
        "id": message.id,
        "at": at,
        "role": message.role,
        "kind": message.kind,
        "hidden": int(not message.context_visible),
        "run": message.run,
        "call": message.call,
        "speaker": message.speaker,
        "text": message.text,
        "data": to_json(dict(message.data)),
    }
    db.execute(SQL["add_message"], bound | {"session": session, "words": blob})
    if blob is not None:
        db.execute(SQL["add_words"], (db.last_insert_rowid(), _indexed(blob)))
    return tuple(bound.values())


def _drop(db: apsw.Connection, number: int) -> int:
    db.execute(SQL["drop_words"], (number,))
    db.execute(SQL["drop_messages"], (number,))
    count = db.changes()
    db.execute(SQL["drop_lease"], (number,))
    db.execute(SQL["drop_session"], (number,))
    return count


def _hit(db: apsw.Connection, number: int, terms: Sequence[str], score: float) -> SessionHit:
    row = one(db, SQL["hit"], (number,)) or ()
    session = session_of(row[_MESSAGE:])
    message = message_of(session.id, row[:_MESSAGE])
    return SessionHit(session=session, message=message, snippet=snippet(message.text, terms), score=score)


def _packed(words: list[int] | None) -> bytes | None:
    return None if words is None else array("q", words).tobytes()


def _unpacked(blob: bytes) -> array[int]:
    words = array("q")
    words.frombytes(blob)
    return words


def _token(word: int) -> str:
    """As the tokenizer of the index takes it: letters and digits."""
    return f"{word & 0xFFFF_FFFF_FFFF_FFFF:016x}"


def _indexed(blob: bytes) -> str:
    return " ".join(map(_token, dict.fromkeys(_unpacked(blob))))
