"""Records: put, read, list, change, purge."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, Literal, TypeVar

from commonplace.errors import InvalidInput
from commonplace.sdk.documents import changed, document, given, query, record_path, texts, written
from commonplace.sdk.talk import Call, Talk, asked
from commonplace.values.census import By, Tally
from commonplace.values.changes import Changes, SuccessorFields
from commonplace.values.note import Note
from commonplace.values.query import Filter, Filters, Order, Page
from commonplace.values.record import Json, Record, State, Trust, Turn, Written
from commonplace.values.scope import Scope, Scopes
from commonplace.values.upkeep import Purged
from commonplace.wire.queries import NAMES
from commonplace.wire.records import ManyWrittenAnswer, VersionsAnswer
from commonplace.wire.shapes import reader

T = TypeVar("T")
PAGE: Final = 1_000
MAX_PAGE: Final = 1_000_000


_record: Final = reader(Record)


def write(method: str, path: str, body: Mapping[str, Json], decode: Callable[[bytes], T]) -> Call[T]:
    """A write with an idempotency key, which may be sent again without being done twice."""
    return Call(method=method, path=path, decode=decode, body=written(body), key=uuid.uuid4().hex)


# ---- put


def put(note: Note, dedupe: Literal["near"] | None) -> Talk[Record]:
    body = {**_note(note), **given({"dedupe": dedupe})}
    return (yield from asked(write("POST", "/v1/records", body, reader(Written)))).record


def put_many(notes: Sequence[Note], dedupe: Literal["near"] | None) -> Talk[list[Record]]:
    if not notes:
        return []
    note_documents: list[Json] = [_note(note) for note in notes]
    body = {"records": note_documents, **given({"dedupe": dedupe})}
    answer = yield from asked(write("POST", "/v1/records/bulk", body, reader(ManyWrittenAnswer)))
    return [result.record for result in answer.written]


def add_turns(
    session: str, turns: Sequence[Turn], *, scope: Scope | str, source: str, trust: Trust, tags: Sequence[str]
) -> Talk[list[Record]]:
    if not turns:
        return []
    body = given({"scope": scope, "source": source, "trust": trust, "tags": texts(tags)})
    turn_documents: list[Json] = [_turn(turn) for turn in turns]
    body |= {"session": session, "turns": turn_documents}
    answer = yield from asked(write("POST", "/v1/turns", body, reader(ManyWrittenAnswer)))
    return [result.record for result in answer.written]


def _note(note: Note) -> dict[str, Json]:
    # A text that is empty is the daemon's to refuse.
    return {**changed_fields(note), "text": document(note.text)}


def _turn(turn: Turn) -> dict[str, Json]:
    return {**changed_fields(turn), "speaker": document(turn.speaker), "text": document(turn.text)}


def changed_fields(value: Note | Turn) -> dict[str, Json]:
    fields = document(value)
    assert isinstance(fields, dict)
    return fields


# ---- read


def get(id: str, version: int | None) -> Talk[Record]:
    return asked(
        Call(method="GET", path=record_path(id), query=query({"version": version}), decode=_record, reads=True)
    )


def history(id: str) -> Talk[list[Record]]:
    call = Call(method="GET", path=record_path(id, "versions"), decode=reader(VersionsAnswer), reads=True)
    return [*(yield from asked(call)).versions]


def listing(
    scopes: Scopes, states: Sequence[State], order: Order, limit: int, cursor: str | None, filters: Filters
) -> Talk[Page]:
    """A page as long as asked for, of as many of the daemon's as that takes."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_PAGE:  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        raise InvalidInput(f"A page has 1 to {MAX_PAGE:,} records.")
    if (filter_query := narrowed(scopes, states, filters)) is None:
        return Page((), None)
    records: list[Record] = []
    while True:
        size = min(PAGE, limit - len(records))
        more = query({"order": order, "limit": size, "cursor": cursor})
        call = Call(method="GET", path="/v1/records", query=(*filter_query, *more), decode=reader(Page), reads=True)
        page = yield from asked(call)
        records += page.records
        cursor = page.cursor
        if cursor is None or len(records) >= limit:
            return Page(tuple(records), cursor)


def counts(by: By | Sequence[By], scopes: Scopes, states: Sequence[State], filters: Filters) -> Talk[Tally]:
    if (filter_query := narrowed(scopes, states, filters)) is None:
        return Tally()
    fields = texts(by)
    if not fields:
        raise InvalidInput("Say by what to count.")
    params = (*filter_query, *query({"by": fields}))
    return (yield from asked(Call(method="GET", path="/v1/counts", query=params, decode=reader(Tally), reads=True)))


def narrowed(scopes: Scopes, states: Sequence[State], filters: Filters) -> tuple[tuple[str, str], ...] | None:
    """The filters as a query; None where nothing fits them: no scope at all, or no state."""
    filter = Filter.parse(scopes, states, filters)
    if filter.scopes == () or not filter.states:
        return None
    fields = {NAMES[name]: getattr(filter, name) for name in ("scopes", *Filters.__optional_keys__)}
    return query({**fields, "everyone": filter.everyone or None, "state": sorted(filter.states)})


# ---- change


def edit(
    id: str, changes: Changes, *, clear: Collection[str], expected: int | None, reason: str | None
) -> Talk[Record]:
    if unknown := set(changes) - Changes.__optional_keys__:
        raise InvalidInput(f"{', '.join(sorted(unknown))}: no such field. Nothing was changed.")
    body = changed({**changes, "tags": _tags(changes.get("tags")), "expected": expected, "reason": reason})
    emptied: list[Json] = [*texts([clear] if isinstance(clear, str) else [*clear])]
    if emptied:
        body["clear"] = emptied
    return asked(write("PATCH", record_path(id), body, _record))


def _tags(tags: Sequence[str] | None) -> list[str] | None:
    return None if tags is None else texts(tags)


def change(
    id: str, verb: str, *, expected: int | None, reason: str | None, fields: Mapping[str, object] | None = None
) -> Talk[Record]:
    """Pin, undo, promote, demote, expire: a verb and what it needs."""
    body = changed({**(fields or {}), "expected": expected, "reason": reason})
    return asked(write("POST", record_path(id, verb), body, _record))


def supersede(id: str, text: str, fields: SuccessorFields, *, expected: int | None, reason: str | None) -> Talk[Record]:
    if unknown := set(fields) - SuccessorFields.__optional_keys__:
        raise InvalidInput(f"{', '.join(sorted(unknown))}: no such field. Nothing was changed.")
    successor = {**fields, "tags": _tags(fields.get("tags"))}
    return change(id, "supersede", expected=expected, reason=reason, fields={**successor, "text": text})


def delete(id: str, *, expected: int | None, reason: str | None) -> Talk[Record]:
    return asked(
        Call(
            method="DELETE",
            path=record_path(id),
            query=query({"expected": expected, "reason": reason}),
            decode=_record,
            key=uuid.uuid4().hex,
        )
    )


def expire(id: str, at: datetime | None, *, expected: int | None, reason: str | None) -> Talk[Record]:
    return change(id, "expire", expected=expected, reason=reason, fields={"at": at})


def purge(
    *, ids: Sequence[str], scope: Scope | str | None, user: str | None, source: str | None, leave_files: bool = False
) -> Talk[Purged]:
    body = changed({"scope": scope, "user": user, "source": source})
    if ids:
        id_list: list[Json] = [*texts(ids)]
        body["ids"] = id_list
    if leave_files:
        body["leave_files"] = True
    return asked(Call(method="POST", path="/v1/purge", body=written(body), decode=reader(Purged)))
