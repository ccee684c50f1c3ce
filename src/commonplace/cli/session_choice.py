"""Which session is meant: by its id, or by the beginning of it."""

from typing import TYPE_CHECKING

from commonplace.cli.lines import clean, clipped
from commonplace.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from commonplace import Client, Memory
    from commonplace.values.session import Session

_PAGE = 200
_PAGES = 25
_SHOWN = 5


def chosen_session(memory: "Memory | Client", id: str) -> "Session":
    """
    Raises:
        NotFound: no session in reach begins so.
        InvalidInput: several do.
    """
    try:
        return memory.session(id)
    except NotFound:
        candidates = _beginning(memory, id)
        if not candidates:
            raise
    if len(candidates) > 1:
        names = "".join(f"\n  {clean(each.id)}  {clipped(each.title or '-', 60)}" for each in candidates[:_SHOWN])
        raise InvalidInput(f"Several sessions begin with {id}. Write more of the id:{names}")
    return candidates[0]


def _beginning(memory: "Memory | Client", id: str) -> "list[Session]":
    sessions: list[Session] = []
    cursor: str | None = None
    for _ in range(_PAGES if id.strip() else 0):
        page = memory.sessions(limit=_PAGE, cursor=cursor, archived="any")
        sessions += [session for session in page.sessions if session.id.startswith(id)]
        cursor = page.cursor
        if cursor is None:
            break
    return sessions
