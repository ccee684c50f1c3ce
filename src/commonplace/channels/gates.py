"""Who is heard: decisions over values, without a look at anything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from commonplace.values.channel import ChannelSender, ChannelSettings, DispatchMode, RouteScope
from commonplace.values.envelope import Envelope

Refusal: TypeAlias = Literal["disabled", "not_allowlisted", "mention_required", "pairing_required"]

GROUP: str = "group:"
"""A group that waits to be let in is a sender of this name."""


def group_refusal(settings: ChannelSettings, envelope: Envelope, approved: ChannelSender | None) -> Refusal | None:
    """Why a message of a group is not heard; None: it is. `approved` is the group as one that was paired."""
    if not envelope.is_group:
        return None
    refusal = admission_refusal(settings, envelope.chat, approved)
    if refusal == "pairing_required" and not envelope.mentions_bot:
        # A group that nobody invited us into is not asked for a code by each of its messages.
        return "mention_required"
    if refusal is not None:
        return refusal
    if settings.group(envelope.chat).require_mention and not (envelope.mentions_bot or envelope.replies_to_bot):
        return "mention_required"
    return None


def admission_refusal(settings: ChannelSettings, group: str, approved: ChannelSender | None) -> Refusal | None:
    """Why nothing of a group is heard, nor posted there."""
    listed = group in settings.groups
    match settings.group_policy:
        case "disabled":
            return "disabled"
        case "allowlist" if not listed:
            return "not_allowlisted"
        case "pairing" if not listed and (approved is None or approved.approved_at is None):
            return "pairing_required"
        case _:
            return None


def sender_refusal(settings: ChannelSettings, sender: str, approved: ChannelSender | None) -> Refusal | None:
    """Why a sender is not heard."""
    if settings.senders == "open" or sender in settings.allowed:
        return None
    if settings.senders == "allowlist":
        return "not_allowlisted"
    return None if approved is not None and approved.approved_at is not None else "pairing_required"


def is_shared(route: RouteScope, envelope: Envelope) -> bool:
    """Whether the session that the message goes to is that of several people."""
    return route in ("single", "chat_thread") or (route == "thread" and envelope.is_group)


@dataclass(frozen=True, kw_only=True, slots=True)
class Dispatch:
    """How a message is given to the session. `refused`: its sender wished to steer, and may not."""

    mode: DispatchMode
    refused: bool = False


def dispatch_of(settings: ChannelSettings, envelope: Envelope) -> Dispatch:
    """In a shared session only those who are allowed may cut others off."""
    wish = settings.group(envelope.chat).dispatch if envelope.is_group else None
    mode = wish or settings.dispatch or ("followup" if is_shared(settings.route, envelope) else "steer")
    if mode == "steer" and is_shared(settings.route, envelope) and not settings.is_allowed(envelope.sender):
        return Dispatch(mode="followup", refused=True)
    return Dispatch(mode=mode)
