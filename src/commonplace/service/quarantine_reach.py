"""
What somebody reads of a record that waits in quarantine: that it is there and why, and not what it says.

Its text looks like an attack on whoever reads it, an agent above all. So it is for those who decide about it (reviewers, admins, the
operator), for whoever has it in their own `user:` scope, and for whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from commonplace.values.quarantine import WHY, is_quarantined
from commonplace.values.record import ChangeKind, Json, Record

if TYPE_CHECKING:
    from commonplace.service.desk import Desk
    from commonplace.values.knowledge import Item
    from commonplace.values.principal import Key, Principal


_WRITES: Final = frozenset[ChangeKind]({"created", "edited"})


async def shown(desk: Desk, who: Principal, records: Sequence[Record]) -> list[Record]:
    """The records, without the text of those in quarantine that the caller is not to read."""
    hidden = [record for record in records if _is_hidden(who, record)]
    if not hidden:
        return list(records)
    keys = await desk.store.keys.list_keys(who.tenant)
    lives = {id: await desk.store.records.history(who.tenant, id) for id in {record.id for record in hidden}}
    own_texts = {id: _own_texts(who, keys, versions) for id, versions in lives.items()}
    return [_shown(record, own_texts[record.id]) if _is_hidden(who, record) else record for record in records]


async def one_shown(desk: Desk, who: Principal, record: Record) -> Record:
    [first] = await shown(desk, who, [record])
    return first


def left_in(who: Principal, keys: Sequence[Key], versions: Sequence[Record]) -> list[Record]:
    """The versions of a record that an export of the caller's has: what it held without a text could not be loaded."""
    if not any(_is_hidden(who, version) for version in versions):
        return list(versions)
    own_texts = _own_texts(who, keys, versions)
    return [version for version in versions if not _is_hidden(who, version) or own_texts.get(version.text)]


def _is_hidden(who: Principal, record: Record) -> bool:
    return is_quarantined(record) and not who.is_at_least("reviewer") and record.scope != who.home


def _own_texts(who: Principal, keys: Sequence[Key], versions: Sequence[Record]) -> dict[str, bool]:
    """
    The texts of a record that the caller wrote, each with whether nobody else had written one before, whose words may stand beside it
    still. Whoever changed something else of the record, or took a change back, wrote none.
    """
    # As with the guard: a search needs none of it.
    from commonplace.service.approvals import is_author  # noqa: PLC0415

    own_texts: dict[str, bool] = {}
    is_first, text = True, None
    for version in versions:
        is_new, text = version.text != text, version.text
        if is_new and version.change in _WRITES and version.actor and is_author(who, [version.actor], keys):
            own_texts.setdefault(version.text, is_first)
        elif version.text not in own_texts:
            is_first = False
    return own_texts


def _shown(record: Record, own_texts: Mapping[str, bool]) -> Record:
    if own_texts.get(record.text):
        return record
    text = record.text if record.text in own_texts else ""
    return replace(record, text=text, key=None, speaker=None, metadata=_reasons_alone(record.metadata))


def item_withheld(item: Item) -> Item:
    """A finding in quarantine for who is not to read it: nobody knows any more who recorded it, but a reviewer."""
    return replace(item, title="", summary="", payload=_reasons_alone(item.payload))


def _reasons_alone(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """With nothing that may hold words of the text: the sentence, and what else was noted beside it."""
    note = metadata.get(WHY)
    return {WHY: {**note, "sentence": None}} if isinstance(note, dict) else {}
