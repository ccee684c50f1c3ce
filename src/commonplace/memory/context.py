"""
Memory for a prompt, under a budget of tokens.

`context` makes the `<memory_context>` block: the current session as it went, then what a question recalls, conversations
apart from facts. Where it does not fit, the end of the relevant history goes first, then the end of the project facts,
then the session, its oldest turns first. `sections` makes `## Agent Memory` and `## Workspace Memory` from the keyed
facts of an agent and a workspace. Neither ever has more tokens than its budget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final, Literal, Protocol, TypeAlias

from commonplace.memory.relevance import answering
from commonplace.ports.records import RecordStore
from commonplace.text.fence import CLOSE, OPEN, OTHERWISE, POLICY, entry, label, name
from commonplace.text.tokens import TokenCounter
from commonplace.values.context import ContextBlock, ContextMeta, ContextQuery
from commonplace.values.query import Filter, Hit, Order, Query
from commonplace.values.record import TRUSTED, Record
from commonplace.values.scope import Scope

BUDGET: Final = 2000
RECALLED: Final = 20
WORKSPACE_ROWS: Final = 30
_PAGE: Final = 200
# More characters than this a token and a text cannot fit: no need to read a longer session to the end.
_CHARACTERS_A_TOKEN: Final = 16
# Transcripts and files are found by a question; they are not facts to be told unasked.
_NOT_FACTS: Final = frozenset({"turn", "resource"})

_BETWEEN: Final = "\n\n"

SectionName = Literal["current_session", "relevant_history", "project_facts", "agent_memory", "workspace_memory"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A record on its way into a block. `place` is where it stands in its section."""

    section: SectionName
    place: int
    record: Record
    text: str
    hit: Hit | None = None


Render = Callable[[Sequence[Piece], int], str]
Tell: TypeAlias = Callable[[Sequence[Hit]], Awaitable[Mapping[str, Sequence[str]]]]
"""Texts for each hit, by record, the shortest first."""


Charge = Callable[[int], None]
"""Is told what a question costs: its words times the scopes it is asked of. It raises if that is too much."""


class Searches(Protocol):
    async def search(self, query: Query, charge: Charge | None = None) -> list[Hit]: ...


class Contexts:
    def __init__(self, store: RecordStore, recall: Searches, tenant: str, count: TokenCounter) -> None:
        self._store = store
        self._recall = recall
        self._tenant = tenant
        self._count = count

    async def context(
        self, query: ContextQuery, *, limit: int = RECALLED, charge: Charge | None = None, tell: Tell | None = None
    ) -> ContextBlock:
        """
        The `<memory_context>` block for a question. A blank question recalls nothing but the session. `tell` has texts for hits instead
        of their passages.
        """
        scopes, session, budget = query.filter.scopes, query.session, query.budget
        told = await self._session(scopes, session, budget) if session else []
        hits: list[Hit] = []
        if query.text.strip():
            question = Query(text=query.text, filter=Filter(scopes=scopes), limit=limit)
            hits = answering(await self._recall.search(question, charge), query.min_relevance)
        known = {record.id for record in told}
        other = [hit for hit in hits if hit.record.id not in known]
        # In a thread: of a long text without words, a tokenizer counts a second for every hundred thousand characters.
        tellings: Mapping[str, Sequence[str]] = await tell(other) if tell is not None else {}
        return await asyncio.to_thread(context_block, told, other, budget, self._count, tellings)

    async def sections(
        self, *, agent: str | None = None, workspace: str | None = None, budget: int = BUDGET
    ) -> ContextBlock:
        """`## Agent Memory` and `## Workspace Memory`, each with a budget of its own; one without rows is left out."""
        blocks: list[ContextBlock] = []
        if agent is not None:
            rows = await self._facts(Scope("agent", agent), None)
            blocks.append(await asyncio.to_thread(agent_block, rows, budget, self._count))
        if workspace is not None:
            rows = await self._facts(Scope("workspace", workspace), WORKSPACE_ROWS)
            room = budget - self._count(_BETWEEN)
            blocks.append(await asyncio.to_thread(workspace_block, rows, room, self._count))
        return _joined([block for block in blocks if block.text or block.left_out], self._count)

    async def _session(self, scopes: tuple[Scope, ...] | None, session: str, budget: int) -> list[Record]:
        """
        The session as it went, or as much of its end as can possibly fit. Sessions of one name in several scopes are
        several conversations: the one that was spoken in last is meant.
        """
        room = max(budget, 0) * _CHARACTERS_A_TOKEN
        found: list[Record] = []
        cursor: str | None = None
        while room >= 0:
            wanted = Filter(scopes=scopes, sessions=(session,))
            page = await self._store.find(self._tenant, wanted, "newest", _PAGE, cursor)
            found.extend(page.records)
            room -= sum(len(record.text) for record in page.records)
            if (cursor := page.cursor) is None:
                break
        return sorted((record for record in found if record.scope == found[0].scope), key=_in_session)

    async def _facts(self, scope: Scope, most: int | None) -> list[Record]:
        """The facts of a scope: pinned, then important, then newest."""
        order: Order = "pinned"
        found: list[Record] = []
        cursor: str | None = None
        while most is None or len(found) < most:
            page = await self._store.find(self._tenant, Filter(scopes=(scope,)), order, _PAGE, cursor)
            found.extend(record for record in page.records if record.kind not in _NOT_FACTS)
            if (cursor := page.cursor) is None:
                break
        return found[:most]


def context_block(
    session: Sequence[Record],
    hits: Sequence[Hit],
    budget: int,
    count: TokenCounter,
    tellings: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> ContextBlock:
    """`session` in the order it went, `hits` best first. `tellings` are texts for a hit, the shortest first: the fullest that fits."""
    last = len(session) - 1
    pieces = [
        Piece("current_session", last - back, record, record.text) for back, record in enumerate(reversed(session))
    ]
    for section in ("project_facts", "relevant_history"):
        found = [hit for hit in hits if _section(hit.record) == section]
        pieces += [Piece(section, place, hit.record, _told(hit), hit) for place, hit in enumerate(found)]
    if tellings:
        pieces = _chosen(pieces, hits, tellings, budget, count)
    return _fitted(pieces, _render_context, budget, count)


def _chosen(
    pieces: Sequence[Piece],
    hits: Sequence[Hit],
    tellings: Mapping[str, Sequence[str]],
    budget: int,
    count: TokenCounter,
) -> list[Piece]:
    """Each hit by its shortest text, and then by fuller ones, the best hits first, as long as there is room."""
    texts = {piece.record.id: piece.text for piece in pieces}
    texts |= {hit.record.id: tellings[hit.record.id][0] for hit in hits if hit.record.id in tellings}
    shortest = [replace(piece, text=texts[piece.record.id]) for piece in pieces]
    room = budget - count(_render_context(shortest, 0))
    for level in range(1, max(map(len, tellings.values()))):
        for hit in hits:
            id = hit.record.id
            longer = tellings.get(id, ())[level : level + 1]
            cost = count(longer[0]) - count(texts[id]) if longer else 0
            if longer and cost <= room:
                texts[id], room = longer[0], room - cost
    return [replace(piece, text=texts[piece.record.id]) for piece in pieces]


def agent_block(rows: Sequence[Record], budget: int, count: TokenCounter) -> ContextBlock:
    """`rows` as they are to be kept, first to last; they stand in the order in which they were first written."""
    born = {record.id: place for place, record in enumerate(sorted(rows, key=lambda row: (row.created_at, row.id)))}
    pieces = [Piece("agent_memory", born[record.id], record, record.text) for record in rows]
    return _fitted(pieces, _render_agent, budget, count)


def workspace_block(rows: Sequence[Record], budget: int, count: TokenCounter) -> ContextBlock:
    """`rows` as they are to be kept and told, first to last."""
    pieces = [Piece("workspace_memory", place, record, record.text) for place, record in enumerate(rows)]
    return _fitted(pieces, _render_workspace, budget, count)


def _fitted(pieces: Sequence[Piece], render: Render, budget: int, count: TokenCounter) -> ContextBlock:
    """As many of `pieces`, first to last, as fit the budget."""
    total = len(pieces)
    whole = render(pieces, 0)
    if total and len(whole) <= budget * _CHARACTERS_A_TOKEN and count(whole) <= budget:
        return _block(pieces, whole, 0, count)
    # A long text must not keep all others out, so none gets more than a quarter of the room.
    short = [_clipped(piece, budget // 4, count) for piece in pieces]
    fits, low, high = 0, 1, total
    while low <= high:
        middle = (low + high) // 2
        if count(render(short[:middle], total - middle)) <= budget:
            fits, low = middle, middle + 1
        else:
            high = middle - 1
    if not fits:
        return ContextBlock(left_out=total)
    return _block(short[:fits], render(short[:fits], total - fits), total - fits, count)


def _block(pieces: Sequence[Piece], text: str, left_out: int, count: TokenCounter) -> ContextBlock:
    shown = sorted(pieces, key=lambda piece: (_ORDER.index(piece.section), piece.place))
    hits = tuple(piece.hit for piece in shown if piece.hit is not None)
    sizes = {section: sum(piece.section == section for piece in shown) for section in _ORDER}
    meta = ContextMeta(
        used=True,
        records_total=len(shown),
        session_records=sizes["current_session"],
        history_records=sizes["relevant_history"],
        fact_records=len(shown) - sizes["current_session"] - sizes["relevant_history"],
        score_min=min((hit.score for hit in hits), default=None),
        score_max=max((hit.score for hit in hits), default=None),
    )
    records = tuple(piece.record for piece in shown)
    return ContextBlock(text=text, tokens=count(text), records=records, hits=hits, left_out=left_out, meta=meta)


def _joined(blocks: Sequence[ContextBlock], count: TokenCounter) -> ContextBlock:
    text = _BETWEEN.join(block.text for block in blocks if block.text)
    records = tuple(record for block in blocks for record in block.records)
    return ContextBlock(
        text=text,
        tokens=count(text) if text else 0,
        records=records,
        left_out=sum(block.left_out for block in blocks),
        meta=ContextMeta(used=bool(records), records_total=len(records), fact_records=len(records)),
    )


_ORDER: Final[tuple[SectionName, ...]] = (
    "current_session",
    "relevant_history",
    "project_facts",
    "agent_memory",
    "workspace_memory",
)


def _render_context(pieces: Sequence[Piece], left_out: int) -> str:
    del left_out
    lines = [OPEN, POLICY]
    for section in _ORDER[:3]:
        inside = sorted((piece for piece in pieces if piece.section == section), key=lambda piece: piece.place)
        if inside:
            lines += [f"<{section}>", *(_context_line(piece) for piece in inside), f"</{section}>"]
    return "\n".join([*lines, CLOSE])


def _render_agent(pieces: Sequence[Piece], left_out: int) -> str:
    return _render_section("## Agent Memory", pieces, left_out)


def _render_workspace(pieces: Sequence[Piece], left_out: int) -> str:
    return _render_section("## Workspace Memory", pieces, left_out)


def _render_section(heading: str, pieces: Sequence[Piece], left_out: int) -> str:
    rows = [_section_line(piece) for piece in sorted(pieces, key=lambda piece: piece.place)]
    more = [f"({left_out} more {'row was' if left_out == 1 else 'rows were'} left out for want of room.)"]
    return "\n".join([OPEN, POLICY, heading, *rows, *(more if left_out else []), CLOSE])


def _context_line(piece: Piece) -> str:
    record = piece.record
    when = f"{record.at:%Y-%m-%d} " if record.at is not None else ""
    who = f"{name(record.speaker)}: " if record.speaker else ""
    key = f"**{name(record.key)}**: " if record.key and not record.speaker else ""
    return entry(f"{label(record)} {when}{who}{key}", piece.text, OTHERWISE if _is_contradicted(piece) else "")


def _is_contradicted(piece: Piece) -> bool:
    return piece.hit is not None and bool(piece.hit.contradicted_by)


def _section_line(piece: Piece) -> str:
    key = f"**{name(piece.record.key)}**: " if piece.record.key else ""
    # An id and a label cost as much as a row: only what is not to be trusted says so.
    return entry(key, piece.text, "" if piece.record.trust in TRUSTED else label(piece.record))


def _section(record: Record) -> SectionName:
    """What belongs to a conversation is history; everything else is a fact."""
    return "relevant_history" if record.session is not None or record.scope.kind == "session" else "project_facts"


def _told(hit: Hit) -> str:
    """The passage that was found; the dots say that the record goes on."""
    text, passage = hit.record.text, hit.passage
    if not passage.strip():
        return text
    before = "… " if text[: hit.why.start].strip() else ""
    after = " …" if text[hit.why.stop :].strip() else ""
    return f"{before}{passage}{after}"


def _clipped(piece: Piece, most: int, count: TokenCounter) -> Piece:
    text = piece.text[: max(most, 0) * _CHARACTERS_A_TOKEN]
    while text and (tokens := count(text)) > most:
        text = text[: min(len(text) - 1, len(text) * most // tokens)].rstrip()
    return piece if text == piece.text else Piece(piece.section, piece.place, piece.record, f"{text} …", piece.hit)


def _in_session(record: Record) -> tuple[bool, int, datetime, str]:
    return record.position is None, record.position or 0, record.at or record.created_at, record.id
