"""Who is heard in a room, and by which code somebody is let in."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from commonplace.channels.flood import SenderLimits
from commonplace.channels.gates import dispatch_of, group_refusal, is_shared, sender_refusal
from commonplace.channels.pairing_codes import ALPHABET, LASTS, approved, asked
from commonplace.values.channel import ChannelSender, ChannelSettings, GroupSettings, PairingNotFound
from commonplace.values.envelope import Envelope

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
HELLO = Envelope(id="1", channel="team", chat="room-7", sender="ana", text="hello", at=NOW, mentions_bot=True)
LET_IN = ChannelSender(channel="team", sender="x", approved_at=NOW)
ANY = ChannelSettings(group_policy="open", senders="open")


@pytest.mark.parametrize(
    ("settings", "envelope", "refusal"),
    [
        (ChannelSettings(), HELLO, "disabled"),
        (ChannelSettings(), replace(HELLO, is_group=False), None),
        (ChannelSettings(group_policy="allowlist"), HELLO, "not_allowlisted"),
        # A star gives defaults, and lets nobody in.
        (ChannelSettings(group_policy="allowlist", groups={"*": GroupSettings()}), HELLO, "not_allowlisted"),
        (ChannelSettings(group_policy="allowlist", groups={"room-7": GroupSettings()}), HELLO, None),
        (ANY, HELLO, None),
        (ANY, replace(HELLO, mentions_bot=False), "mention_required"),
        (ANY, replace(HELLO, mentions_bot=False, replies_to_bot=True), None),
        (replace(ANY, groups={"*": GroupSettings(require_mention=False)}), replace(HELLO, mentions_bot=False), None),
        # What is said of a room is not mixed with what is said of all.
        (
            replace(ANY, groups={"*": GroupSettings(require_mention=False), "room-7": GroupSettings()}),
            replace(HELLO, mentions_bot=False),
            "mention_required",
        ),
        (ChannelSettings(group_policy="pairing"), HELLO, "pairing_required"),
        (ChannelSettings(group_policy="pairing"), replace(HELLO, mentions_bot=False), "mention_required"),
    ],
)
def test_a_group_is_heard_if_it_is_let_in_and_means_us(
    settings: ChannelSettings, envelope: Envelope, refusal: str | None
) -> None:
    assert group_refusal(settings, envelope, None) == refusal


def test_a_group_that_was_paired_is_heard() -> None:
    assert group_refusal(ChannelSettings(group_policy="pairing"), HELLO, LET_IN) is None


@pytest.mark.parametrize(
    ("settings", "known", "refusal"),
    [
        (ChannelSettings(), None, "not_allowlisted"),
        (ChannelSettings(allowed=("ana",)), None, None),
        (ChannelSettings(senders="open"), None, None),
        (ChannelSettings(senders="pairing"), None, "pairing_required"),
        (ChannelSettings(senders="pairing"), replace(LET_IN, approved_at=None), "pairing_required"),
        (ChannelSettings(senders="pairing"), LET_IN, None),
        (ChannelSettings(senders="pairing", allowed=("ana",)), None, None),
    ],
)
def test_a_sender_is_heard_as_the_policy_says(
    settings: ChannelSettings, known: ChannelSender | None, refusal: str | None
) -> None:
    assert sender_refusal(settings, "ana", known) == refusal


@pytest.mark.parametrize(
    ("settings", "envelope", "mode"),
    [
        (ANY, HELLO, "followup"),
        (replace(ANY, route="user"), HELLO, "steer"),
        (ANY, replace(HELLO, is_group=False), "steer"),
        (replace(ANY, dispatch="steer"), HELLO, "steer"),
        (replace(ANY, dispatch="steer", allowed=("bob",)), HELLO, "followup"),
        (replace(ANY, dispatch="steer", allowed=("bob",), route="user"), HELLO, "steer"),
        (replace(ANY, dispatch="collect"), HELLO, "collect"),
        (replace(ANY, groups={"room-7": GroupSettings(dispatch="collect")}), HELLO, "collect"),
    ],
)
def test_in_a_shared_session_nobody_cuts_others_off_who_may_not(
    settings: ChannelSettings, envelope: Envelope, mode: str
) -> None:
    assert dispatch_of(settings, envelope).mode == mode


def test_a_session_is_shared_if_several_talk_in_it() -> None:
    alone = replace(HELLO, is_group=False)

    assert [is_shared(route, HELLO) for route in ("user", "thread", "single", "chat_thread")] == [
        False,
        True,
        True,
        True,
    ]
    assert [is_shared(route, alone) for route in ("user", "thread", "single")] == [False, False, True]


# ---- codes


def new(sender: str) -> ChannelSender:
    return ChannelSender(channel="team", sender=sender)


def test_a_sender_has_one_code_for_an_hour_and_three_wait_at_most() -> None:
    first = asked([], new("ana"), NOW)
    assert first is not None
    assert first.code is not None
    senders = [first]
    again = asked(senders, new("ana"), NOW + timedelta(minutes=59))
    for name in ("bob", "cyd"):
        waiting = asked(senders, new(name), NOW)
        assert waiting is not None
        senders.append(waiting)

    assert again == first
    assert (len(first.code), set(first.code) <= set(ALPHABET)) == (8, True)
    assert asked(senders, new("dan"), NOW) is None
    # When the codes are too old, there is room again.
    assert asked(senders, new("dan"), NOW + LASTS) is not None


def test_a_code_lets_in_by_any_letters_and_only_in_time() -> None:
    ana = replace(new("ana"), code="K7M2QX4B", code_at=NOW)

    let_in = approved([ana], " k7m2qx4b ", NOW)

    assert (let_in.approved_at, let_in.code) == (NOW, None)
    for code, at in (("K7M2QX4B", NOW + LASTS), ("K7M2QX4C", NOW)):
        with pytest.raises(PairingNotFound):
            approved([ana], code, at)


# ---- floods


def test_whoever_floods_is_told_once_and_others_are_heard() -> None:
    limits = SenderLimits(2, timedelta(seconds=10))

    taken = [limits.take("ana", NOW) for _ in range(4)]

    assert taken == ["taken", "taken", "refused", "refused_again"]
    assert limits.take("bob", NOW) == "taken"
    assert limits.take("ana", NOW + timedelta(seconds=10)) == "taken"
