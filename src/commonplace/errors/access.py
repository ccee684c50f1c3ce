"""Who may not, not so often, or not so slowly."""

from __future__ import annotations

from commonplace.errors.root import CommonplaceError


class Unauthenticated(CommonplaceError):
    """A key is needed: send `Authorization: Bearer …`. `commonplace token` prints the operator's."""

    code = "unauthenticated"
    status = 401


class TokenRequired(Unauthenticated):
    """This route needs a key even where the daemon runs without authentication."""

    code = "token_required"


class CapabilityExpired(Unauthenticated):
    """The capability has expired. Ask whoever started the run for a new one."""

    code = "capability_expired"


class Forbidden(CommonplaceError):
    """The key does not allow this. Ask an admin for one that does."""

    code = "forbidden"
    status = 403


class HostNotAllowed(Forbidden):
    """The request names a host that is not ours. Use the daemon's own address, or add the name to allowed_hosts."""

    code = "host_not_allowed"


class OriginNotAllowed(Forbidden):
    """A web page of another origin sent this. Add that origin to allowed_origins if you trust it."""

    code = "origin_not_allowed"


class CapabilityMismatch(Forbidden):
    """The capability was made for another run, place or person. Send the one of this run."""

    code = "capability_mismatch"


class TierNotAllowed(Forbidden):
    """Neither the key nor the capability reaches this tier. Choose another, or ask an admin for a key that does."""

    code = "tier_not_allowed"


class TierNotStorable(Forbidden):
    """No record can be kept in this tier. Use session, project or global."""

    code = "tier_not_storage_backed"


class ReviewRequired(Forbidden):
    """Somebody has to approve this first. Give reviewer_id and approval_id, or use a reviewer's key."""

    code = "review_required"


class UntrustedSource(Forbidden):
    """The record came from outside and nobody has reviewed it. Give reviewer_id and approval_id to share it."""

    code = "untrusted_source"


class PathEscape(Forbidden):
    """The path leads out of the folders of memory, or may. Name a plain file inside them."""

    code = "path_escape"


class QueryTooBroad(Forbidden):
    """The question asks for everything there is. Ask for something in particular."""

    code = "query_too_broad"


class TooManyRequests(CommonplaceError):
    """Too many requests. Wait as long as Retry-After says, then go on."""

    code = "rate_limit_exceeded"
    status = 429


class TooManyListeners(TooManyRequests):
    """Too many listen to this daemon's events already. Try again in a few seconds, or at another daemon."""

    code = "subscriber_limit_exceeded"


class BudgetExhausted(TooManyRequests):
    """What may be recalled in this window of time is used up. Wait for the next one."""

    code = "budget_exhausted"


class SpendingCapReached(TooManyRequests):
    """
    What may be spent on models is used up, so none was called. Wait for the next day (UTC), or raise the budget at
    /v1/budgets.
    """

    code = "spending_cap_reached"


class TimedOut(CommonplaceError):
    """The request took too long and was given up. A write with an idempotency key may be repeated."""

    code = "request_timeout"
    status = 504


class BodyTooSlow(TimedOut):
    """The request's body did not arrive in time. Send it again, in one go."""

    code = "body_timeout"
    status = 408
