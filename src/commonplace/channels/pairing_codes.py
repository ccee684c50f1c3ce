"""
Letting somebody in by a code: who is not earlier gets one, and an admin approves it.

A code has eight characters that nobody confuses, and is good for an hour. Somebody who asks again gets the same one. Three may wait in a channel.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from commonplace.values.channel import ChannelSender, PairingNotFound

ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
LENGTH: Final = 8
LASTS: Final = timedelta(hours=1)
MOST_WAITING: Final = 3


def is_waiting(sender: ChannelSender, now: datetime) -> bool:
    return sender.approved_at is None and sender.code_at is not None and now - sender.code_at < LASTS


def asked(senders: Sequence[ChannelSender], who: ChannelSender, now: datetime) -> ChannelSender | None:
    """The sender with a code; None: too many wait."""
    earlier = next((sender for sender in senders if sender.sender == who.sender), None)
    if earlier is not None and is_waiting(earlier, now):
        return earlier
    if sum(is_waiting(sender, now) for sender in senders) >= MOST_WAITING:
        return None
    code = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
    return replace(who, code=code, code_at=now, approved_at=None)


def approved(senders: Sequence[ChannelSender], code: str, now: datetime) -> ChannelSender:
    """
    The sender who waits under this code, let in. Large and small letters are one.

    Raises:
        PairingNotFound: nobody does, or no longer.
    """
    wish = code.strip().upper()
    for sender in senders:
        if sender.code is not None and secrets.compare_digest(sender.code, wish) and is_waiting(sender, now):
            return replace(sender, code=None, code_at=None, approved_at=now)
    raise PairingNotFound
