"""How callers write what the engines want exactly: ids and paths."""

from __future__ import annotations

import uuid
from typing import Final

from commonplace.errors import InvalidInput, RecordNotFound
from commonplace.ports.records import RecordStore
from commonplace.values.query import ALL_STATES, Filter

LEAST_PREFIX: Final = 16
"""The first twelve digits of an id are the time it was made, the next one is always a seven: records of one moment share them."""
WHOLE: Final = 32
_ANY: Final = Filter(states=ALL_STATES)
_HEXADECIMAL: Final = frozenset("0123456789abcdef")


async def resolve(store: RecordStore, tenant: str, id: str, among: Filter = _ANY) -> str:
    """
    The id that `id` is the beginning of, at least 16 digits long, of those that `among` counts. A whole id is itself.

    Raises:
        RecordNotFound: there is none, or it is not an id at all.
        InvalidInput: there are several.
    """
    digits = _digits(id)
    if not LEAST_PREFIX <= len(digits) <= WHOLE or not all(digit in _HEXADECIMAL for digit in digits):
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
    digits = _digits(id)
    return len(digits) == WHOLE and all(digit in _HEXADECIMAL for digit in digits)


def require_whole(id: str) -> None:
    """Before a record is taken away. Raises InvalidInput: it is the beginning of an id."""
    digits = _digits(id)
    if 0 < len(digits) < WHOLE and all(digit in _HEXADECIMAL for digit in digits):
        raise InvalidInput("Give the whole id of the record: the beginning of one could be another's.", id=id)


def whole_id(id: str) -> str:
    """A whole id as the stores write it."""
    return str(uuid.UUID(hex=_digits(id)))


def _digits(id: str) -> str:
    return id.strip().lower().replace("-", "")
