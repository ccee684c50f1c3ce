"""Channels at the native door: which there are, how they are set, who is let in, and who is who."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from commonplace.channels.admin import ChannelAdmin
from commonplace.channels.host import LOCAL_SETTINGS
from commonplace.channels.platforms import GUIDES, PLATFORMS
from commonplace.doors.native.conditions import problems
from commonplace.governance.access import require_role
from commonplace.server.auth import Caller, use_case
from commonplace.server.door import only_conditions
from commonplace.values.channel import (
    LOCAL_KINDS,
    ChannelChanges,
    ChannelProfile,
    ChannelSender,
    ChannelSettings,
    ChannelStatus,
    ChannelTest,
    ChatRoom,
    SenderLink,
)
from commonplace.wire.channels import (
    ChannelBody,
    ChannelChangeBody,
    ChannelDeletedAnswer,
    ChannelKindAnswer,
    ChannelKindsAnswer,
    ChannelLogAnswer,
    ChannelPauseBody,
    ChannelsAnswer,
    ChannelSpendingAnswer,
    ChannelTestBody,
    LinksAnswer,
    PairBody,
    SenderLinkBody,
    SendersAnswer,
)
from commonplace.wire.shapes import Label

router = APIRouter(prefix="/v1", tags=["native"])

ChannelName = Annotated[Label, Path(description="The channel's name.")]
Admin = Annotated[ChannelAdmin, use_case(ChannelAdmin)]


@router.get("/channels", summary="List the channels", responses=problems(), dependencies=[only_conditions()])
async def channels(who: Caller, admin: Admin) -> ChannelsAnswer:
    """Ways in by which rooms reach the agent. How they are set is shown to admins."""
    return ChannelsAnswer(tuple(await admin.channels(who)), tuple(PLATFORMS))


# Before the channels by their names: none is called so.
@router.get(
    "/channels/kinds",
    summary="How each kind of channel is set up",
    responses=problems(),
    dependencies=[only_conditions()],
)
async def channel_kinds(who: Caller) -> ChannelKindsAnswer:
    """Steps, permissions, fields and what errors mean, in English and Chinese. The same for everybody: it holds nothing of this daemon."""
    require_role(who, "reader")
    return ChannelKindsAnswer(tuple(ChannelKindAnswer(guide, kind in PLATFORMS) for kind, guide in GUIDES.items()))


@router.post("/channels", status_code=201, summary="Add a channel", responses=problems(409))
async def add_channel(body: ChannelBody, who: Caller, admin: Admin) -> ChannelProfile:
    """
    For admins; what has `options` or `secrets`, for the operator. It begins at once: whether it is connected is told by `GET` of the channel.
    """
    # The rooms of a foreign platform let in nobody until somebody says who.
    start = LOCAL_SETTINGS if body.kind in LOCAL_KINDS else ChannelSettings()
    return await admin.add(who, body.name, body.kind, body.settings.over(start))


@router.get("/channels/{channel}", summary="Look at a channel", responses=problems(404))
async def channel(channel: ChannelName, who: Caller, admin: Admin) -> ChannelStatus:
    return await admin.channel(who, channel)


@router.patch("/channels/{channel}", summary="Set a channel otherwise, start or stop it", responses=problems(404))
async def change_channel(channel: ChannelName, body: ChannelChangeBody, who: Caller, admin: Admin) -> ChannelProfile:
    """For admins; `options` and `secrets` for the operator. A channel that is stopped stays so when the daemon begins again."""
    changes = ChannelChanges()
    if body.settings is not None:
        changes["settings"] = body.settings.over((await admin.channel(who, channel)).channel.settings)
    if body.enabled is not None:
        changes["enabled"] = body.enabled
    return await admin.change(who, channel, changes)


@router.delete("/channels/{channel}", summary="Remove a channel with its rooms", responses=problems(404))
async def remove_channel(channel: ChannelName, who: Caller, admin: Admin) -> ChannelDeletedAnswer:
    """For admins. What its rooms remember stays until their scopes are purged."""
    await admin.remove(who, channel)
    return ChannelDeletedAnswer(channel)


@router.post("/channels/{channel}/test", summary="Write a test message", responses=problems(404, 409, 421))
async def test_channel(channel: ChannelName, body: ChannelTestBody, who: Caller, admin: Admin) -> ChannelTest:
    """For admins. That a platform refuses it is an answer, too: `is_sent` is false then, and `error` says why."""
    return await admin.test(who, channel, body.chat)


@router.get(
    "/channels/{channel}/log",
    summary="What happened to a channel's connection",
    responses=problems(404),
    dependencies=[only_conditions()],
)
async def channel_log(channel: ChannelName, who: Caller, admin: Admin) -> ChannelLogAnswer:
    """For admins. The last 200 lines since the daemon began, the oldest first; never what was said, nor a secret."""
    return ChannelLogAnswer(await admin.log(who, channel))


@router.get(
    "/channels/{channel}/spending",
    summary="What its rooms have spent",
    responses=problems(404),
    dependencies=[only_conditions()],
)
async def channel_spending(channel: ChannelName, who: Caller, admin: Admin) -> ChannelSpendingAnswer:
    """For admins. All rooms of the channel, also those of a platform, each with its budget's window."""
    return ChannelSpendingAnswer(tuple(await admin.spending(who, channel)))


@router.post("/channels/{channel}/pause", summary="Pause the agent in a room", responses=problems(404))
async def pause_room(channel: ChannelName, body: ChannelPauseBody, who: Caller, admin: Admin) -> ChatRoom:
    """For admins. As `/pause` and `/resume` in the room: messages are kept there, and left alone."""
    return await admin.pause(who, channel, body.chat, body.paused)


@router.get(
    "/channels/{channel}/senders",
    summary="Who waits to be let in, and who was",
    responses=problems(404),
    dependencies=[only_conditions()],
)
async def channel_senders(channel: ChannelName, who: Caller, admin: Admin) -> SendersAnswer:
    """For admins."""
    return SendersAnswer(tuple(await admin.senders(who, channel)))


@router.delete(
    "/channels/{channel}/senders/{sender}",
    status_code=204,
    summary="Let a sender in no longer",
    responses=problems(404),
)
async def dismiss_sender(
    channel: ChannelName,
    sender: Annotated[Label, Path(description="As the platform calls them.")],
    who: Caller,
    admin: Admin,
) -> None:
    """For admins. Whoever waited with a code, and whoever was let in by one."""
    await admin.dismiss(who, channel, sender)


@router.post("/channels/{channel}/pair", summary="Let a sender in by their code", responses=problems(404))
async def pair_sender(channel: ChannelName, body: PairBody, who: Caller, admin: Admin) -> ChannelSender:
    """For admins. A code is good for an hour."""
    return await admin.pair(who, channel, body.code)


@router.get(
    "/sender-links", summary="Which senders are which persons", responses=problems(), dependencies=[only_conditions()]
)
async def sender_links(who: Caller, admin: Admin) -> LinksAnswer:
    """For admins."""
    return LinksAnswer(tuple(await admin.links(who)))


@router.post("/sender-links", summary="Say that a sender is a person here", responses=problems())
async def link_sender(body: SenderLinkBody, who: Caller, admin: Admin) -> SenderLink:
    """For admins. From now on the sender's turns are that person's, as far as the room reaches."""
    return await admin.link(who, body.identity, body.subject)


@router.delete("/sender-links/{identity}", status_code=204, summary="Take a link back", responses=problems(404))
async def unlink_sender(
    identity: Annotated[Label, Path(description="As it was linked.")], who: Caller, admin: Admin
) -> None:
    """For admins."""
    await admin.unlink(who, identity)
