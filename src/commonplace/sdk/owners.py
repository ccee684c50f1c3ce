"""Where to ask instead, if a daemon says that another one leads a session."""

from __future__ import annotations

from typing import Final

from commonplace.sdk.address import Address
from commonplace.sdk.talk import HttpReply, problem
from commonplace.values.session_lease import SessionElsewhere

_OWNER: Final = "x-commonplace-owner"
_STATUS: Final = 421


def followed(address: Address, reply: HttpReply) -> str | None:
    """
    The address of the daemon to ask instead; None: this answer is the answer.

    Raises:
        SessionElsewhere: the caller never named that host, and no key is sent where nobody said that it may be.
    """
    owner = reply.headers.get(_OWNER) if reply.status == _STATUS else None
    if owner is None:
        return None
    if not address.trusts(owner):
        place = owner[:200]
        raise SessionElsewhere(
            f"The daemon at {place} leads this session, and no key is sent to a host that you did not name. Connect to that one, "
            f"or name both, separated by a comma (url, --url, COMMONPLACE_URL).",
            **problem(reply).details,
        )
    return owner.rstrip("/")
