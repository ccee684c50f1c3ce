"""
Removing without a trace: what is named, the cached vectors of what it said, and the files that it follows.

The files go first. Where one of them cannot go, nothing does, unless the caller says otherwise: a record whose file stays would be
back at the next look at that file.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from commonplace.errors import InvalidInput, PurgeRefused
from commonplace.memory.prepare import Told, stretches
from commonplace.ports.files import FileEraser, LockedFiles
from commonplace.ports.records import RecordStore
from commonplace.ports.vector_cache import VectorCache
from commonplace.text.digest import text_hash
from commonplace.text.tokens import TokenCounter
from commonplace.values.file_ref import FileRef, refs_of
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Lineage
from commonplace.values.scope import Scope
from commonplace.values.upkeep import Purged

OnFault: TypeAlias = Literal["refuse", "leave", "spare"]
"""What becomes of a purge where a file cannot go: nothing is purged; the file is left; its record is spared."""
_BATCH: Final = 500
_MOST_NAMED: Final = 20


@dataclass(slots=True)
class _Survey:
    """What a purge would remove beside the rows."""

    hashes: set[bytes] = field(default_factory=set[bytes])
    refs: list[FileRef] = field(default_factory=list[FileRef])


class Purger:
    """`reaches`: whether the caller may touch what lies in a scope."""

    def __init__(
        self,
        store: RecordStore,
        cache: VectorCache,
        tenant: str,
        count: TokenCounter,
        files: FileEraser,
        reaches: Callable[[Scope], bool] = lambda _: True,
    ) -> None:
        self._store = store
        self._cache = cache
        self._tenant = tenant
        self._count = count
        self._files = files
        self._reaches = reaches

    async def purge(
        self,
        *,
        ids: Sequence[str],
        scope: Scope | None,
        user: str | None,
        source: str | None,
        leave_files: bool = False,
    ) -> Purged:
        """
        Remove the records `ids`, what is or was in a scope, what is of a source, or all that comes from a user: what is or
        was in the user's scope, what the user said, and what the user wrote. Exactly one of them is to be named.

        Raises:
            PurgeRefused: a file that one of them follows cannot be removed. With `leave_files` it is left, and named.
        """
        if sum([bool(ids), scope is not None, user is not None, source is not None]) != 1:
            raise InvalidInput("Name what to purge: ids, a scope, a user or a source, and only one of them.")
        whole = Scope("user", user) if user is not None else scope
        if user is not None:
            own = Filter(ever_in=whole, states=ALL_STATES)
            filters = [own, Filter(told_by=user, states=ALL_STATES)]
        elif scope is not None:
            filters = [Filter(ever_in=scope, states=ALL_STATES)]
        elif source is not None:
            filters = [Filter(sources=(source,), states=ALL_STATES)]
        else:
            filters = _by_ids(ids)
        scopes = () if whole is None else (whole,)
        return await self.remove(filters, scopes=scopes, on_fault="leave" if leave_files else "refuse")

    async def remove(
        self, filters: Sequence[Filter], *, scopes: Sequence[Scope] = (), on_fault: OnFault = "refuse"
    ) -> Purged:
        """
        Remove what fits one of `filters`, the files that it follows, and all files of `scopes`. Once begun it is brought to its
        end, also where the caller is cancelled.

        Raises:
            PurgeRefused: as above.
        """
        if not filters:
            return Purged(0, 0)
        return await asyncio.shield(asyncio.ensure_future(self._remove(filters, scopes, on_fault)))

    async def _remove(self, filters: Sequence[Filter], scopes: Sequence[Scope], on_fault: OnFault) -> Purged:
        survey = await self._survey(filters)
        wider = [*filters, *self._followers(survey.refs)]
        async with self._files.locked(self._tenant, survey.refs, scopes) as files:
            if not survey.refs and files.is_empty:
                return await self._purged(filters, survey.hashes)
            # Anew: from now on nobody brings records up to these files.
            survey = await self._survey(wider)
            faults, others = await self._faults(files, survey.refs)
            remaining = tuple(dict.fromkeys((*faults.values(), *others)))
            if remaining and on_fault == "refuse":
                raise _refused(remaining)
            if faults and on_fault == "spare":
                wider = _without(wider, faults)
            count = await files.erase([ref for ref in survey.refs if ref not in faults])
            purged = await self._purged(wider, survey.hashes)
        return replace(purged, files=count, files_left=remaining)

    async def rows(self, filters: Sequence[Filter]) -> Purged:
        """Remove what fits one of `filters` and follows no file, or one that is erased already."""
        return await self._purged(filters, (await self._survey(filters)).hashes)

    async def _purged(self, filters: Sequence[Filter], hashes: Collection[bytes]) -> Purged:
        if not filters:
            return Purged(0, 0)
        purged = await self._store.purge(self._tenant, filters)
        ordered = list(hashes)
        for start in range(0, len(ordered), _BATCH):
            await self._cache.uncache(ordered[start : start + _BATCH])
        return purged

    async def _faults(self, files: LockedFiles, refs: Sequence[FileRef]) -> tuple[dict[FileRef, str], list[str]]:
        faults, others = await files.faults([ref for ref in refs if self._reaches(ref.scope)])
        # Of a scope that is out of reach not even the name of a file is told.
        hidden = {
            ref: f"a file ({ref.scope}): the key does not reach it" for ref in refs if not self._reaches(ref.scope)
        }
        return {**faults, **hidden}, list(others)

    def _followers(self, refs: Sequence[FileRef]) -> list[Filter]:
        """Records that follow the same files since one of those to be purged moved elsewhere."""
        keys = dict.fromkeys((ref.scope, ref.key) for ref in refs if not ref.current and self._reaches(ref.scope))
        return [Filter(scopes=(scope,), key=key, states=ALL_STATES) for scope, key in keys]

    async def _survey(self, filters: Sequence[Filter]) -> _Survey:
        survey = _Survey()
        records: set[str] = set()
        for filter in filters:
            async for lineage in self._lineages(filter):
                for content in {Told.by(version) for version in lineage.versions}:
                    survey.hashes.update(text_hash(spoken) for _, _, spoken in stretches(content, self._count))
                if (id := lineage.versions[-1].id) not in records:
                    records.add(id)
                    survey.refs += refs_of(lineage.versions)
        return survey

    async def _lineages(self, filter: Filter) -> AsyncIterator[Lineage]:
        after: str | None = None
        while lineages := await self._store.lineages(self._tenant, filter, after, _BATCH):
            for lineage in lineages:
                yield lineage
            after = lineages[-1].versions[-1].id


def _refused(remaining: Sequence[str]) -> PurgeRefused:
    more = len(remaining) - _MOST_NAMED
    listed = "; ".join(remaining[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
    return PurgeRefused(
        f"Nothing was purged: a file of managed memory that these records follow cannot be removed from here: {listed}. "
        "Put that right and purge again, or purge and leave the files.",
        files=list(remaining),
    )


def _without(filters: Sequence[Filter], faults: Mapping[FileRef, str]) -> list[Filter]:
    """The filters, but for the records whose files stay."""
    ids, keys = {ref.record for ref in faults}, {(ref.scope, ref.key) for ref in faults}
    rest: list[Filter] = []
    for filter in filters:
        if filter.ids:
            others = tuple(id for id in filter.ids if id not in ids)
            # Without any id it would mean every record.
            rest += [replace(filter, ids=others)] if others else []
        elif not any((scope, filter.key) in keys for scope in filter.scopes or ()):
            rest.append(filter)
    return rest


def _by_ids(ids: Sequence[str]) -> list[Filter]:
    starts = range(0, len(ids), _BATCH)
    return [Filter(ids=tuple(ids[start : start + _BATCH]), states=ALL_STATES) for start in starts]
