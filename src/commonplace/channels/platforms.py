"""
The chat platforms that a channel may be of: how each is made, and how people set it up.

A platform of somebody else is a folder beside this module (`matrix/`, …) with a `platform.py`, and a line in `PLATFORMS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from commonplace.channels.local import LocalChannel
from commonplace.channels.parts import RoomParts
from commonplace.channels.secrets import has_secret
from commonplace.errors import InvalidInput
from commonplace.ports.channel import Channel
from commonplace.values.channel import ChannelKind, ChannelProfile, ChannelSettings
from commonplace.values.platform import Bilingual, PlatformGuide

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


def local_channel(tenant: str, profile: ChannelProfile, parts: RoomParts) -> Channel:
    return LocalChannel(tenant, profile.name, parts.store, parts.clock)


_WEB = PlatformGuide(kind="web", title=Bilingual(en="Rooms of this console", zh="本控制台的聊天室"))
_TERMINAL = PlatformGuide(kind="terminal", title=Bilingual(en="Rooms at the terminal", zh="终端里的聊天室"))
PLATFORMS: Final[dict[ChannelKind, Platform]] = {
    "web": Platform(guide=_WEB, make=local_channel),
    "terminal": Platform(guide=_TERMINAL, make=local_channel),
}
