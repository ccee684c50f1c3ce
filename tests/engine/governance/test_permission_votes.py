"""Who decides a permission: each policy by example, and what holds for every order of votes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.governance.permission_votes import Ballot, Poll, Ruling, decide, open_poll
from commonplace.values.permission import CHOICES, POLICIES, VOTE_CHOICES, PermissionPolicy, PermissionVoteChoice

PEOPLE = ("ana", "bob", "cy", "dan")

people = st.sampled_from(PEOPLE)
polls = st.builds(
    open_poll,
    st.sampled_from(POLICIES),
    speaker=st.none() | people,
    present=st.frozensets(people),
    quorum=st.none() | st.integers(1, 9),
)
ballots = st.builds(Ballot, voter=people, choice=st.sampled_from(VOTE_CHOICES), loopback=st.booleans())


def voted(poll: Poll, *votes: tuple[str, PermissionVoteChoice]) -> Ruling:
    """The ruling on the last of these votes."""
    ruling = Ruling(outcome="recorded", poll=poll)
    for voter, choice in votes:
        ruling = decide(ruling.poll, Ballot(voter=voter, choice=choice))
    return ruling


def test_of_the_first_responder_the_first_vote_decides() -> None:
    poll = open_poll("first-responder", speaker="ana")

    ruling = voted(poll, ("bob", "allow_once"))

    assert (ruling.outcome, ruling.choice, ruling.decided_by) == ("resolved", "allow_once", "first-responder")


@pytest.mark.parametrize(("voter", "outcome"), [("ana", "resolved"), ("bob", "refused")])
def test_designated_is_whoever_speaks(voter: str, outcome: str) -> None:
    poll = open_poll("designated", speaker="ana", present=["bob"])

    ruling = voted(poll, (voter, "reject_once"))

    assert (ruling.outcome, ruling.refusal) == (outcome, "designated_mismatch" if outcome == "refused" else None)


def test_in_a_turn_of_nobody_designated_is_whoever_answers_first() -> None:
    assert voted(open_poll("designated", speaker=None), ("bob", "allow_once")).outcome == "resolved"


@pytest.mark.parametrize(("loopback", "refusal"), [(True, None), (False, "remote_not_allowed")])
def test_local_only_counts_votes_of_this_machine(loopback: bool, refusal: str | None) -> None:
    ballot = Ballot(voter="bob", choice="allow_once", loopback=loopback)

    assert decide(open_poll("local-only", speaker="ana"), ballot).refusal == refusal


@pytest.mark.parametrize(
    ("count", "quorum", "needed"),
    [(0, None, 1), (1, None, 1), (2, None, 2), (3, None, 2), (4, None, 3), (3, 1, 1), (3, 9, 3), (0, 5, 1)],
)
def test_a_quorum_is_more_than_half_unless_set_and_never_more_than_there_are(
    count: int, quorum: int | None, needed: int
) -> None:
    poll = open_poll("consensus", speaker=None, present=PEOPLE[:count], quorum=quorum)

    assert (len(poll.voters), poll.quorum) == (count, needed)


def test_a_consensus_is_reached_by_as_many_as_the_quorum_and_not_before() -> None:
    poll = open_poll("consensus", speaker="ana", present=["bob", "cy"])

    first = voted(poll, ("ana", "allow_once"))
    second = voted(poll, ("ana", "allow_once"), ("bob", "allow_once"))

    assert (first.outcome, first.poll.votes_needed) == ("recorded", 1)
    assert (second.outcome, second.choice, second.decided_by) == ("resolved", "allow_once", "consensus")


def test_if_all_have_voted_and_do_not_agree_it_is_rejected() -> None:
    poll = open_poll("consensus", speaker="ana", present=["bob", "cy"])

    ruling = voted(poll, ("ana", "allow_once"), ("bob", "allow_session"), ("cy", "reject_once"))

    assert (ruling.outcome, ruling.choice, ruling.decided_by) == ("resolved", "reject_once", "no_consensus")


def test_a_person_votes_once_and_the_first_vote_counts() -> None:
    poll = open_poll("consensus", speaker="ana", present=["bob", "cy"])

    ruling = voted(poll, ("ana", "allow_once"), ("ana", "reject_once"))

    assert (ruling.outcome, dict(ruling.poll.votes)) == ("repeated", {"ana": "allow_once"})


@pytest.mark.parametrize("policy", POLICIES)
def test_whoever_cancels_ends_it_under_every_policy(policy: PermissionPolicy) -> None:
    ruling = voted(open_poll(policy, speaker="ana"), ("somebody", "cancel"))

    assert (ruling.outcome, ruling.choice, ruling.decided_by) == ("resolved", "reject_once", "cancelled")


@given(poll=polls, votes=st.lists(ballots, max_size=12))
def test_whatever_the_order_of_votes(poll: Poll, votes: list[Ballot]) -> None:
    counted: dict[str, str] = {}
    for ballot in votes:
        before, ruling = poll, decide(poll, ballot)
        poll = ruling.poll
        is_allowed = ballot.voter in poll.voters or (not poll.voters and poll.policy != "consensus")
        is_allowed = is_allowed and (poll.policy != "local-only" or ballot.loopback)

        if ballot.choice != "cancel":
            assert (ruling.outcome == "refused") == (not is_allowed)
        if ruling.outcome in ("refused", "repeated") or ballot.choice == "cancel":
            assert poll == before
        else:
            assert ballot.voter not in counted
            counted[ballot.voter] = ballot.choice
        assert dict(poll.votes) == counted
        if ruling.outcome != "resolved":
            assert all(count < poll.quorum for count in poll.tallies.values())
            continue
        assert ruling.choice in CHOICES
        if ruling.choice != "reject_once":
            assert poll.tallies[ruling.choice] >= poll.quorum
        return
    # Nobody who may vote is left, and it waits still: only a consensus of nobody does.
    assert not (poll.voters and set(poll.voters) <= set(poll.votes))
