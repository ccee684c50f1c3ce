"""How a request for permission is decided, and what became of a vote, in words."""

from commonplace.cli.lines import counted
from commonplace.values.permission import PermissionAnswer, PermissionRefusal, PermissionTerms, PermissionVote
from commonplace.values.turn_event import PermissionVoted, PermissionVoteLate, PermissionVoteRefused

_WHY: dict[PermissionRefusal, str] = {
    "designated_mismatch": "others decide this request",
    "remote_not_allowed": "it did not come from the daemon's machine",
}
VoteEvent = PermissionVoted | PermissionVoteRefused | PermissionVoteLate


def terms_words(terms: PermissionTerms) -> str:
    """Who decides."""
    match terms.policy:
        case "designated":
            return f"Only {terms.speaker} may permit it." if terms.speaker else "Whoever answers first decides."
        case "first-responder":
            return "Whoever answers first decides."
        case "consensus":
            return f"{terms.quorum} of {len(terms.voters)} have to agree: {', '.join(terms.voters)}."
        case "local-only":
            return "Whoever answers first from the daemon's machine decides."


def vote_words(event: VoteEvent) -> str:
    """What a vote did."""
    match event:
        case PermissionVoted(voter=voter, votes=votes, quorum=quorum, needed=needed):
            return f"{voter} voted: {counted(votes, 'vote')}, {quorum} have to agree, {needed} more needed."
        case PermissionVoteRefused(voter=voter, reason=reason):
            return f"The vote of {voter} does not count: {_WHY[reason]}."
        case PermissionVoteLate(voter=voter):
            return f"{voter} voted when it was decided already."


def answer_words(answer: PermissionAnswer) -> str:
    """What was decided, by whom or why."""
    words = "Allowed" if answer.allows else "Refused"
    why = f" ({answer.reason})" if answer.reason else ""
    if answer.voter is None:
        return f"{words}{why}."
    if len(answer.votes) > 1:
        return f"{words} by {', '.join(answer.votes)}: {answer.choice}{why}."
    return f"{words} by {answer.voter}: {answer.choice}{why}."


def recorded_words(vote: PermissionVote) -> str:
    return f"Counted. {counted(vote.votes_needed, 'more vote')} needed."
