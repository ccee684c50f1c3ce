"""How callers write what the engines want exactly: scopes, filters, ids."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final, get_args

from commonplace.errors import InvalidInput, InvalidQuery, RecordNotFound
from commonplace.memory.validate import check_line
from commonplace.ports.records import RecordStore
from commonplace.values.moment import utc
from commonplace.values.query import ALL_STATES, Filter, Filters
from commonplace.values.record import State, Trust
from commonplace.values.scope import Scopes, scopes_of

LEAST_PREFIX: Final = 8
WHOLE: Final = 32
_ANY: Final = Filter(states=ALL_STATES)


def path_of(given: str | Path) -> Path:
    return Path(given).expanduser()


def texts(what: str, given: Sequence[str] | None) -> tuple[str, ...]:
    """Several texts; a single one is meant as such, not as its letters."""
    if given is None:
        return ()
    found = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(text, str) for text in found):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        raise InvalidInput(f"{what} are texts.")
    for text in found:
        check_line(what, text)
    return found


def filter_of(scopes: Scopes, states: Sequence[State], filters: Filters) -> Filter:
    trust = texts("trust labels", filters.get("trust"))
    if unknown := set(trust) - set(get_args(Trust)):
        raise InvalidQuery(f"{', '.join(sorted(unknown))}: no such trust label. Use {', '.join(get_args(Trust))}.")
    wanted = texts("states", states)
    if unknown := set(wanted) - ALL_STATES:
        raise InvalidQuery(f"{', '.join(sorted(unknown))}: no such state. Use {', '.join(sorted(ALL_STATES))}.")
    if unknown := set(filters) - Filters.__optional_keys__:
        raise InvalidQuery(
            f"{', '.join(sorted(unknown))}: no such filter. Use {', '.join(sorted(Filters.__optional_keys__))}."
        )
    for name in ("speaker", "key", "key_prefix", "superseded_by"):
        check_line(name, filters.get(name))
    since, until = filters.get("since"), filters.get("until")
    return Filter(
        scopes=scopes_of(scopes),
        kinds=texts("kinds", filters.get("kinds")),
        sources=texts("sources", filters.get("sources")),
        tags=texts("tags", filters.get("tags")),
        trust=tuple(label for label in get_args(Trust) if label in trust),
        visibility=filters.get("visibility"),
        sessions=texts("sessions", filters.get("sessions")),
        speaker=filters.get("speaker"),
        key=filters.get("key"),
        key_prefix=filters.get("key_prefix"),
        superseded_by=filters.get("superseded_by"),
        pinned=filters.get("pinned"),
        since=utc(since) if since else None,
        until=utc(until) if until else None,
        states=frozenset(state for state in ALL_STATES if state in wanted),
    )


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
