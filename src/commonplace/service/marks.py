"""Writes that are to be done once, told apart by a mark: what is there already under the same mark stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

from commonplace.ports.records import RecordStore
from commonplace.service.account import Account, Journaled
from commonplace.values.record import Draft, Written


class Marked(Journaled):
    """A journaled store that gives each draft of a put its mark."""

    def __init__(self, store: RecordStore, account: Account, marks: Sequence[bytes]) -> None:
        super().__init__(store, account)
        self._marks = tuple(marks)

    async def put(self, drafts: Sequence[Draft], *, beside: object = None) -> list[Written]:
        marked_drafts = [replace(draft, once=mark) for draft, mark in zip(drafts, self._marks, strict=True)]
        return await super().put(marked_drafts, beside=beside)


def mark_of(*parts: object) -> bytes:
    """One mark for all that is told the same."""
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()
