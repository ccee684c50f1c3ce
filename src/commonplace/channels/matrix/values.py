"""What the platform has to know again after a restart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from commonplace.ports.channel_store import ChannelStore

BEGUN: Final = "begun/"
"""Answers that are told while they are made: their transaction, and the id of the message, if the server said it."""
SEEN: Final = "seen/"
"""Our marks on messages whose turns have not ended, by their transactions: room, message and mark."""
ENCRYPTED: Final = "encrypted/"
"""Rooms that were told that we do not speak there."""
INVITED: Final = "invited/"
"""Rooms that we were invited to, and are not in."""
SINCE: Final = "since/"


@dataclass(frozen=True, slots=True)
class KeptValues:
    tenant: str
    channel: str
    store: ChannelStore

    async def all(self, prefix: str) -> dict[str, str]:
        """By what follows the prefix."""
        values = await self.store.platform_values(self.tenant, self.channel, prefix)
        return {name.removeprefix(prefix): value for name, value in values.items()}

    async def get(self, name: str) -> str | None:
        return (await self.store.platform_values(self.tenant, self.channel, name)).get(name)

    async def put(self, name: str, value: str | None) -> None:
        await self.store.put_platform_value(self.tenant, self.channel, name, value)
