"""
The chat platforms that a channel may be of: how each is made, and how people set it up.

A platform of somebody else is a folder beside this module (`matrix/`, …) with a `platform.py`, a guide in `guides/`, and a line in `PLATFORMS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from commonplace.channels.dingtalk.platform import dingtalk_channel
from commonplace.channels.feishu.platform import feishu_channel
from commonplace.channels.guides.dingtalk import DINGTALK
from commonplace.channels.guides.feishu import FEISHU
from commonplace.channels.guides.local import TERMINAL, WEB
from commonplace.channels.guides.matrix import MATRIX
from commonplace.channels.local import LocalChannel
from commonplace.channels.matrix.platform import matrix_channel
from commonplace.channels.parts import RoomParts
from commonplace.channels.secrets import has_secret
from commonplace.errors import InvalidInput
from commonplace.ports.channel import Channel
from commonplace.values.channel import ChannelKind, ChannelProfile, ChannelSettings
from commonplace.values.platform import PlatformGuide

MakeChannel = Callable[[str, ChannelProfile, RoomParts], Channel]
"""From a tenant, a profile and what channels are given. Raises InvalidInput if the settings cannot be used."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    guide: PlatformGuide
    make: MakeChannel

    def check(self, settings: ChannelSettings) -> None:
        """Raises InvalidInput: something that the platform needs is missing, or it does not know what it is given."""
        secrets = {field.name for field in self.guide.fields if field.secret}
        options = {field.name for field in self.guide.fields if not field.secret}
        for what, names, allowed_names in (
            ("option", settings.options, options),
            ("secret", settings.secrets, secrets),
        ):
            unknown = sorted(set(names) - allowed_names)
            if unknown:
                raise InvalidInput(f"A channel of kind {self.guide.kind} has no {what} {unknown[0]!r:.60}.")
        for field in self.guide.fields:
            has_value = has_secret(settings, field.name) if field.secret else bool(settings.options.get(field.name))
            if field.required and not (has_value or field.default):
                what = "secret" if field.secret else "option"
                raise InvalidInput(f"A channel of kind {self.guide.kind} needs the {what} {field.name!r}.")
            values = [choice.value for choice in field.choices]
            if values and settings.options.get(field.name, values[0]) not in values:
                raise InvalidInput(f"The option {field.name!r} is one of {', '.join(values)}.")


def offered_kind(kind: str) -> ChannelKind:
    """Raises InvalidInput: there is no such kind, or no client for it."""
    for candidate in PLATFORMS:
        if candidate == kind:
            return candidate
    kinds = ", ".join(PLATFORMS)
    if any(name == kind for name in GUIDES):
        raise InvalidInput(f"This version cannot talk to {kind} yet. Channels are of one of the kinds {kinds}.")
    raise InvalidInput(f"{kind!r:.40} is no kind of channel. Use one of {kinds}.")


def local_channel(tenant: str, profile: ChannelProfile, parts: RoomParts) -> Channel:
    return LocalChannel(tenant, profile.name, parts.store, parts.clock)


PLATFORMS: Final[dict[ChannelKind, Platform]] = {
    "web": Platform(guide=WEB, make=local_channel),
    "terminal": Platform(guide=TERMINAL, make=local_channel),
    "dingtalk": Platform(guide=DINGTALK, make=dingtalk_channel),
    "feishu": Platform(guide=FEISHU, make=feishu_channel),
    "matrix": Platform(guide=MATRIX, make=matrix_channel),
}
GUIDES: Final[dict[ChannelKind, PlatformGuide]] = {
    "web": WEB,
    "terminal": TERMINAL,
    "matrix": MATRIX,
    "dingtalk": DINGTALK,
    "feishu": FEISHU,
}
"""Of every kind, also of one that this version has no client for."""
