"""Makes a channel of Feishu from its settings."""

from __future__ import annotations

from commonplace.channels.connection import Connection
from commonplace.channels.feishu.api import FeishuApi
from commonplace.channels.feishu.channel import FeishuChannel
from commonplace.channels.feishu.messages import MessagePlace
from commonplace.channels.feishu.options import read_options
from commonplace.channels.parts import RoomParts
from commonplace.ports.channel import Channel
from commonplace.values.channel import ChannelProfile


def feishu_channel(tenant: str, profile: ChannelProfile, parts: RoomParts) -> Channel:
    """Raises InvalidInput: the settings cannot be used."""
    options = read_options(profile.settings)
    place = MessagePlace(tenant=tenant, channel=profile.name, store=parts.store)
    connection = Connection(profile.name, parts.clock)
    return FeishuChannel(options, place, FeishuApi(options, parts.clock), connection, parts.clock)
