"""What was recalled into a run: every search and every context block leaves its ids in the audit, under the run it was for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from commonplace.learning.shown_memories import ShownMemories
from commonplace.service.desk import Desk
from commonplace.values.audit import AuditQuery
from commonplace.values.principal import Principal
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Record

_ACTIONS: Final = ("record.search", "record.context", "memory_search", "managed.recall")
_ROWS: Final = 500
_MOST: Final = 1_000
_PAGE: Final = 500


async def recalled_into(
    desk: Desk, who: Principal, runs: Sequence[str], *, record_ids: Sequence[str] = (), session: str | None = None
) -> ShownMemories:
    """
    What was shown to any of these runs, and the records of `record_ids`, as far as the caller may read them. The turns of
    `session` itself are not counted: whoever said them first is not repeating them.
    """
    await desk.flush_reads()
    ids = dict.fromkeys(record_ids)
    for run in runs:
        page = await desk.store.journal.audit(who.tenant, AuditQuery(actions=_ACTIONS, run=run), _ROWS, None)
        for row in page.rows:
            row_ids = row.details.get("ids")
            ids.update(dict.fromkeys(str(id) for id in row_ids) if isinstance(row_ids, list) else {})
    texts: list[str] = []
    who = await desk.with_every_scope(who)
    id_list = list(ids)[:_MOST]
    for start in range(0, len(id_list), _PAGE):
        portion = tuple(id_list[start : start + _PAGE])
        matches = await desk.store.records.find(
            who.tenant, Filter(ids=portion, states=ALL_STATES), "newest", _PAGE, None
        )
        texts += [
            record.text for record in matches.records if who.reaches(record.scope) and not _said_here(record, session)
        ]
    return ShownMemories(texts)


def _said_here(record: Record, session: str | None) -> bool:
    return record.kind == "turn" and record.session is not None and record.session == session
