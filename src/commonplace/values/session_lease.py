"""Which process leads a session: it alone plays its turns and adds to its history, for as long as it holds the lease."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commonplace.errors import CommonplaceError, Conflict, Overloaded, StoreUnavailable
from commonplace.values.moment import Moment

_CHANNEL: Final = "channel\n"


def channel_lease(channel: str) -> str:
    """The name under which the lease of a channel stands among those of sessions. No session has it: ids have no line breaks."""
    return f"{_CHANNEL}{channel}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseHolder:
    """
    A process that leads sessions. `process` is its name (`jobs/leases.worker_name`). `url` is where the daemon is reached, `socket` the path of
    the socket at which this process takes the requests of its siblings; None: there is none.
    """

    process: str
    url: str | None = None
    socket: str | None = None

    def is_beside(self, other: LeaseHolder) -> bool:
        """Whether these are two workers of one daemon: the sockets of its workers are in one folder."""
        if self.socket is None or other.socket is None or self.process == other.process:
            return False
        return Path(self.socket).parent == Path(other.socket).parent


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionLease:
    """`claim` is new whenever a process takes a session up: whoever wrote under an earlier one can write no more."""

    tenant: str
    session: str
    claim: str
    holder: LeaseHolder
    expires_at: Moment

    @property
    def channel(self) -> str | None:
        """The channel that is led, if this is the lease of one and not of a session."""
        return self.session.removeprefix(_CHANNEL) if self.session.startswith(_CHANNEL) else None


class SessionElsewhere(Conflict):
    """Another daemon leads this session, or the channel of this room. Send the request to its address, or wait until it has let go."""

    code = "session_elsewhere"
    status = 421

    lease: SessionLease | None = None
    """As this process read it; a client knows the details `owner`, an address, and `retry_after`, seconds."""
    is_beside: bool = False
    """Whether another worker of this daemon leads it: requests are passed on to that one."""

    @classmethod
    def of(cls, lease: SessionLease, retry_after: float) -> SessionElsewhere:
        where = lease.holder.url or "another process"
        what = "this session" if lease.channel is None else f"the channel {lease.channel}"
        message = f"{where} leads {what}. Ask there, or wait until it has let go."
        error = cls(message, owner=lease.holder.url, retry_after=max(0.0, retry_after))
        error.lease = lease
        return error


class PerhapsElsewhere(CommonplaceError):
    """
    The error of a request that names no session, if another worker of the daemon may know what this one does not: a base beside the class
    that says what it is. The other workers are asked before it is told.
    """


class SessionMoving(Overloaded):
    """The process that led this session is ending, or another one takes the session up. Try again in a moment; read first what was said."""

    code = "session_moving"


class SessionInUse(Conflict):
    """A program on this store that takes no requests, such as `commonplace chat`, has this session open. Close it there, then try again."""

    code = "session_in_use"


class SessionLost(StoreUnavailable):
    """Another process has taken this session over. Nothing more was written here: listen to the session again, and read what was said."""

    code = "session_lost"
