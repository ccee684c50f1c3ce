"""How callers write what the engines want exactly: ids and paths."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Final

from commonplace.errors import InvalidInput, RecordNotFound
from commonplace.ports.records import RecordStore
from commonplace.values.query import ALL_STATES, Filter

LEAST_PREFIX: Final = 8
WHOLE: Final = 32
_ANY: Final = Filter(states=ALL_STATES)


def path_of(given: str | Path) -> Path:
    return Path(given).expanduser()


async def resolve(store: RecordStore, tenant: str, id: str, among: Filter = _ANY) -> str:
    """
    The id that `id` is the beginning of, at least eight digits long, of those that `among` counts. A whole id is itself.

    Raises:
        RecordNotFound: there is none, or it is not an id at all.
        InvalidInput: there are several.
    """
    digits = _digits(id)
    if not LEAST_PREFIX <= len(digits) <= WHOLE or not all(digit in "0123456789abcdef" for digit in digits):
        raise RecordNotFound(
            f"There is no record {id!r}. Give its id, or at least the first {LEAST_PREFIX} digits of it.", id=id
        )
    if len(digits) == WHOLE:
        return str(uuid.UUID(hex=digits))
    before = str(uuid.UUID(hex=digits.ljust(WHOLE, "0")))
    near = await store.lineages(tenant, among, before, 2)
    found = [life.versions[-1].id for life in near if life.versions[-1].id.replace("-", "").startswith(digits)]
    if not found:
        raise RecordNotFound(f"There is no record whose id begins with {id!r}.", id=id)
    if len(found) > 1:
        raise InvalidInput(f"Several records have ids that begin with {id!r}. Give more of its digits.", id=id)
    return found[0]


def is_whole(id: str) -> bool:
    """Whether it is an id and not the beginning of one."""
    return len(_digits(id)) == WHOLE


def _digits(id: str) -> str:
    return id.strip().lower().replace("-", "")
