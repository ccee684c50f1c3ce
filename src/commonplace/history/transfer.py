"""
Sessions in an export: a line for each session, and behind it lines of its messages, hidden ones too, as they were kept.

What another program wrote, or a disk spoiled, is refused and never half kept. Reading the same file again changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, cast

from pydantic import TypeAdapter, ValidationError

from commonplace.errors import CommonplaceError, NotFound
from commonplace.history.message_text import check_draft, storable
from commonplace.memory.transcript import Malformed, Object
from commonplace.memory.validate import check_label
from commonplace.ports.history import HistoryStore, SessionFilter
from commonplace.ports.journal import Entries
from commonplace.values.line import check_line
from commonplace.values.session import MessageDraft, Session, SessionMessage
from commonplace.wire.shapes import to_json

_FIELDS: Final = frozenset({"session", "messages"})
_PORTION: Final = 200
_LONGEST_LINE: Final = 1_000_000
"""Characters of a line's messages, about: one that is longer has a line of its own."""
_MOST_POSITION: Final = 1 << 53


def _nothing(session: Session) -> Entries:
    del session
    return Entries()


def _anybody(session: Session) -> None:
    del session


class SessionTransfer:
    """
    Satisfies `memory.transfer.Companion`. `filter` says which sessions are written; `check` raises for one that may not be loaded, and
    `beside` says what is kept with one that is.
    """

    def __init__(
        self,
        store: HistoryStore,
        tenant: str,
        filter: SessionFilter | None = None,
        *,
        check: Callable[[Session], None] = _anybody,
        beside: Callable[[Session], Entries] = _nothing,
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._filter = filter or SessionFilter(owner=None, archived=None)
        self._check = check
        self._beside = beside
        self._counts = {"sessions": 0, "messages": 0}
        self._session: str | None = None

    @property
    def fields(self) -> frozenset[str]:
        return _FIELDS

    @property
    def counts(self) -> Mapping[str, int]:
        return {**self._counts}

    # ---- out

    async def is_empty(self) -> bool:
        return not (await self._store.sessions(self._tenant, self._filter, 1)).sessions

    async def lines(self) -> AsyncIterator[list[str]]:
        for id in await self._store.session_ids(self._tenant, self._filter):
            try:
                session = await self._store.session(self._tenant, id)
                yield [_line("session", session)]
                self._counts["sessions"] += 1
                async for messages in self._messages(id):
                    yield [_line("messages", part) for part in _parts(messages)]
                    self._counts["messages"] += len(messages)
            except NotFound:
                # Deleted meanwhile: what is written of it stays in the file, as it was.
                continue

    async def _messages(self, id: str) -> AsyncIterator[tuple[SessionMessage, ...]]:
        after = 0
        while True:
            page = await self._store.messages(self._tenant, id, after=after, limit=_PORTION, hidden=True)
            if page.messages:
                yield page.messages
                after = page.messages[-1].position
            if not page.after:
                return

    # ---- in

    def read(self, line: Object) -> Session | tuple[SessionMessage, ...]:
        """Raises Malformed."""
        [(name, value), *others] = line.items()
        if others:
            raise Malformed("unknown fields beside a session or its messages")
        try:
            if name == "session":
                session = cast(Session, _adapter(Session).validate_python(value))
                _check_session(session)
                self._session = session.id
                return session
            messages = cast("tuple[SessionMessage, ...]", _adapter(tuple[SessionMessage, ...]).validate_python(value))
            for message in messages:
                _check_message(message, self._session)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise Malformed(f"a {name.removesuffix('s')} is none: {place}: {first['msg']}") from None
        except CommonplaceError as error:
            raise Malformed(error.message) from error
        return messages

    async def keep(self, items: Sequence[object]) -> None:
        for item in items:
            if isinstance(item, Session):
                self._check(item)
                await self._store.load_session(self._tenant, item, self._beside(item))
                self._counts["sessions"] += 1
            else:
                messages = cast("tuple[SessionMessage, ...]", item)
                if messages:
                    await self._store.load_messages(self._tenant, messages[0].session, messages)
                self._counts["messages"] += len(messages)


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def _line(name: str, value: object) -> str:
    document: Any = json.loads(to_json(value)) if isinstance(value, Session) else _documents(value)
    return json.dumps({name: document}, ensure_ascii=False, separators=(",", ":")) + "\n"


def _documents(messages: object) -> list[Any]:
    return [json.loads(to_json(message)) for message in cast("Sequence[SessionMessage]", messages)]


def _parts(messages: Sequence[SessionMessage]) -> list[list[SessionMessage]]:
    parts: list[list[SessionMessage]] = [[]]
    size = 0
    for message in messages:
        if parts[-1] and size + len(message.text) > _LONGEST_LINE:
            parts.append([])
            size = 0
        parts[-1].append(message)
        size += len(message.text)
    return parts


def _check_session(session: Session) -> None:
    for what, label in (("session", session.id), ("person", session.owner), ("agent", session.agent)):
        check_label(what, label)
    check_label("source", session.source)
    for what, line in (("the title", session.title), ("the model", session.model), ("the folder", session.folder)):
        check_line(what, line)
    check_line("the workspace", session.workspace)


def _check_message(message: SessionMessage, session: str | None) -> None:
    if message.session != session:
        raise Malformed("messages that stand behind another session")
    if not 1 <= message.position < _MOST_POSITION:
        raise Malformed("a message without a position")
    draft = MessageDraft(id=message.id, role=message.role, kind=message.kind, text=message.text, data=message.data)
    checked = check_draft(draft)
    if checked.text != message.text or checked.data != dict(message.data):
        raise Malformed("a message with what is no character")
    for what, label in (("run", message.run), ("call", message.call), ("speaker", message.speaker)):
        if label is not None and storable(label) != label:
            raise Malformed(f"a {what} with what is no character")
