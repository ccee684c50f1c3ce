"""Every error of Commonplace, in one tree.

    CommonplaceError
    ├── InvalidInput            the caller sent something that cannot be kept or asked
    │   ├── InvalidText         empty, NUL bytes, lone surrogates
    │   ├── TextTooLarge
    │   ├── InvalidScope
    │   ├── InvalidKey
    │   ├── InvalidImportance
    │   ├── InvalidQuery
    │   ├── InvalidClientId
    │   ├── InvalidFile         an export or an import that is not what it says
    │   ├── BodyTooLarge
    │   ├── InvalidJson         not UTF-8, not JSON, or nested too deeply
    │   ├── MethodNotAllowed
    │   ├── IdempotencyKeyReused
    │   ├── PreconditionRequired    a write that does not say what it is to replace
    │   ├── SecretRefused       the scrub found what must never rest in memory
    │   ├── InvalidMode         neither append nor replace
    │   ├── InvalidContextMode  neither workspace nor clean
    │   ├── InvalidContent      what a memory file was to hold is no text; why a fact is refused: values/filing_errors.py
    │   │   └── ContentTooLarge
    │   └── MemoryFileTooLarge  a file of memory has grown beyond what is read
    ├── Unauthenticated         no key, or one that opens nothing
    │   ├── TokenRequired       the route asks for a key even where none is asked for otherwise
    │   └── CapabilityExpired   those of a signed one are in values/capability.py
    ├── Forbidden               known, and not allowed
    │   ├── ScopeTaken          somebody else wrote to the session first
    │   ├── HostNotAllowed      the request was meant for another host
    │   ├── OriginNotAllowed    a page of somebody else sent it
    │   ├── CapabilityMismatch  the capability is for another run, place or person
    │   ├── TierNotAllowed
    │   ├── TierNotStorable     no record can be kept in a tier of that name
    │   ├── ReviewRequired      somebody has to approve first
    │   ├── OwnReview           nobody below admin approves what they wrote
    │   ├── UntrustedSource     what came from outside is not shared unreviewed
    │   ├── PathEscape          a path that leads, or may lead, out of the folders of memory
    │   │   └── RememberPathEscape  and an agent tried to write there
    │   └── QueryTooBroad       it asks for everything there is
    ├── TooManyRequests
    │   ├── TooManyListeners    every place at the stream of events is taken
    │   ├── QueueFull           too many jobs wait already
    │   │   └── RememberQueueFull   the same, at the door of qwen-code
    │   ├── BudgetExhausted     what may be recalled in a window of time is used up
    │   └── SpendingCapReached  what a model may cost, in a task or a day, is used up
    ├── TimedOut
    │   └── BodyTooSlow
    ├── Overloaded              as many connections, or bytes of requests, as the daemon may have
    ├── ShuttingDown            the daemon stops, and does not finish this
    ├── NotFound               those of runs, tasks and artifacts are in values/run_errors.py
    │   ├── RecordNotFound
    │   ├── VersionNotFound
    │   ├── RouteNotFound
    │   ├── RememberTaskNotFound
    │   ├── ForgetTaskNotFound
    │   ├── DreamTaskNotFound
    │   └── PathNotFound
    ├── Conflict
    │   ├── RecordChanged       somebody else wrote first
    │   │   └── PreconditionFailed  the same, where the version came as If-Match
    │   ├── NothingToUndo
    │   ├── AddressTaken        another program listens there
    │   ├── AlreadyAnswered     the request was done before, under the same idempotency key
    │   ├── FileChanged         a person edited the file since it was read
    │   │   └── FilePreconditionFailed  the same, where what was read came as If-Match
    │   ├── PurgeRefused        a file that the records follow cannot be removed from here
    │   ├── RemovalRefused      an import would delete more than half of what was imported
    │   ├── ManagedMemoryUnavailable    no folder of memory here
    │   ├── StoreNotAdopted     the store was made elsewhere, and its keys and jobs do not count
    │   ├── TrustedRecord       something from outside would change what a person wrote or approved
    │   ├── NotInReview         a record that no reviewer need look at
    │   └── InvalidTransition   what is known does not go from one status to any other
    ├── StoreError              the store cannot do its work
    │   ├── StoreUnavailable    out of reach, or gone in mid-work
    │   │   └── DaemonUnavailable   nobody answers at the daemon's address
    │   ├── StoreBusy
    │   ├── StoreReadOnly
    │   ├── StoreFull
    │   ├── StoreCorrupt
    │   ├── NotAStore           the file is somebody else's
    │   ├── StoreTooNew
    │   └── StoreClosed
    ├── InternalError           our own mistake
    ├── ModelError              the language model did not do what it was asked
    │   ├── ModelUnavailable    out of reach, too busy, or out of order: worth another try
    │   ├── ModelTimeout
    │   ├── ModelRefused        the key, the request or what it says is not accepted
    │   └── ModelMalformed      its answer is not what was asked for
    ├── LaneError               a task of managed memory came to no end
    │   ├── RememberFailed
    │   ├── ForgetFailed
    │   ├── DreamFailed
    │   │   ├── DreamBudgetReached  it might have cost more than one dream may
    │   │   └── DreamLost       a model left out what was remembered
    │   └── LaneTimeout
    │       ├── RememberTimeout
    │       ├── ForgetTimeout
    │       └── DreamTimeout
    ├── FileError               a file of memory could not be read or written
    │   └── MemoryWriteTimeout  somebody else held its lock for too long
    └── EmbedderError
        ├── EmbedderUnavailable
        ├── EmbedderChanged     the store holds vectors of another embedder
        └── WrongDimension

A class's docstring is its default message and tells the reader what to do next. `code` is stable: programs may
compare it. `status` is what the HTTP doors answer.
"""

from __future__ import annotations

import inspect
from typing import ClassVar


class CommonplaceError(Exception):
    """Something went wrong in Commonplace."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500

    def __init__(self, message: str | None = None, **details: object) -> None:
        self.message = message or inspect.cleandoc(type(self).__doc__ or type(self).__name__)
        self.details = details
        super().__init__(self.message)


# ---- what a caller sent that cannot be stored or asked


class InvalidInput(CommonplaceError):
    """The input cannot be used. Correct it and try again."""

    code = "invalid_input"
    status = 400


class InvalidText(InvalidInput):
    """The text cannot be stored. Give non-empty text without NUL characters or lone surrogates."""

    code = "invalid_text"


class TextTooLarge(InvalidInput):
    """The text is larger than 2 MiB. Split it, or import it as files."""

    code = "text_too_large"
    status = 413


class InvalidScope(InvalidInput):
    """
    The scope is not one we know. Write it as kind:id, where kind is session, agent, workspace, channel, user or global,
    for instance workspace:web.
    """

    code = "invalid_scope"


class InvalidKey(InvalidInput):
    """The key must have 1 to 255 printable characters."""

    code = "invalid_key"


class InvalidImportance(InvalidInput):
    """Importance is a whole number from 0 to 100."""

    code = "invalid_importance"


class InvalidQuery(InvalidInput):
    """The question cannot be searched for."""

    code = "invalid_query"


class InvalidClientId(InvalidInput):
    """The client id must have 1 to 128 letters, digits, dots, colons, dashes or underscores."""

    code = "invalid_client_id"


class BodyTooLarge(InvalidInput):
    """The request's body is too large. Send less at a time, or import files."""

    code = "body_too_large"
    status = 413


class InvalidJson(InvalidInput):
    """The body is not JSON that can be read: UTF-8, no NaN, nested at most 64 deep."""

    code = "invalid_json"


class MethodNotAllowed(InvalidInput):
    """The address is there, but not for this method. /docs shows what is."""

    code = "method_not_allowed"
    status = 405


class IdempotencyKeyReused(InvalidInput):
    """The idempotency key was used for another request. Use a new key for each request."""

    code = "idempotency_key_reused"
    status = 422


class InvalidFile(InvalidInput):
    """The file is not what was expected. Nothing was changed."""

    code = "invalid_file"


class PreconditionRequired(InvalidInput):
    """Say which version you saw: send its ETag as If-Match, or If-None-Match: * to make something new."""

    code = "precondition_required"
    status = 428


class SecretRefused(InvalidInput):
    """The text holds a private key or a cloud secret. Store where the secret lives, not the secret itself."""

    code = "secret_refused"
    status = 422


class InvalidMode(InvalidInput):
    """The mode must be append or replace."""

    code = "invalid_mode"


class InvalidContextMode(InvalidInput):
    """The context mode must be workspace or clean."""

    code = "invalid_context_mode"


class InvalidContent(InvalidInput):
    """The content must be text."""

    code = "invalid_content"


class ContentTooLarge(InvalidContent):
    """The content is larger than 1 MiB. Send it in parts."""

    code = "content_too_large"


class MemoryFileTooLarge(InvalidInput):
    """The file of memory is too large to be added to. Shorten it, or replace it."""

    code = "memory_file_too_large"
    status = 413


# ---- who may not, not so often, or not so slowly


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


class ScopeTaken(Forbidden):
    """The session belongs to somebody else. Choose another id, or have its owner share it with you."""

    code = "scope_taken"


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
    """Another reviewer has to approve this version first, with `commonplace approve ID@VERSION`. Then try again."""

    code = "review_required"


class OwnReview(Forbidden):
    """You wrote this yourself. Another reviewer, or an admin, has to approve it."""

    code = "own_review"


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


class QueueFull(TooManyRequests):
    """This queue is full. Wait for a job to end, then try again."""

    code = "queue_full"


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


class Overloaded(CommonplaceError):
    """The daemon has as many open connections as it may. Try again in a moment."""

    code = "overloaded"
    status = 503


class ShuttingDown(CommonplaceError):
    """The daemon is stopping. Try again in a moment, or at another daemon."""

    code = "shutting_down"
    status = 503


# ---- what is missing, and what does not fit what is there


class NotFound(CommonplaceError):
    """There is no such thing here."""

    code = "not_found"
    status = 404


class RecordNotFound(NotFound):
    """There is no such record. `commonplace list` shows what there is."""

    code = "record_not_found"


class VersionNotFound(NotFound):
    """The record has no such version. `commonplace history ID` shows the versions it has."""

    code = "version_not_found"


class RouteNotFound(NotFound):
    """There is nothing at this address. /docs shows what there is."""

    code = "route_not_found"


class PathNotFound(NotFound):
    """There is no such file or folder, or it cannot be read."""

    code = "path_not_found"


class Conflict(CommonplaceError):
    """The write does not fit what is there now."""

    code = "conflict"
    status = 409


class RecordChanged(Conflict):
    """The record is not at the version you expected. Read it again, then decide."""

    code = "record_changed"


class PreconditionFailed(RecordChanged):
    """The record is not at the version that If-Match names. Read it again, then decide."""

    code = "precondition_failed"
    status = 412


class NothingToUndo(Conflict):
    """The record stands at its first version: there is nothing to undo. Delete it if it should go."""

    code = "nothing_to_undo"


class AddressTaken(Conflict):
    """Another program listens at this address. End it, or choose another port with --port."""

    code = "address_taken"


class AlreadyAnswered(Conflict):
    """A request with this idempotency key was done before."""

    code = "already_answered"


class FileChanged(Conflict):
    """Somebody changed the file since it was read. It was left as it is; read it again, then decide."""

    code = "file_changed"


class FilePreconditionFailed(FileChanged):
    """The file is another than the one that If-Match names. The details hold it as it is now: compare, then decide."""

    code = "file_precondition_failed"
    status = 412


class PurgeRefused(Conflict):
    """Nothing was purged: a file of managed memory that these records follow cannot be removed from here."""

    code = "purge_refused"


class RemovalRefused(Conflict):
    """This import would delete more than half of what the folder brought. Check that it is mounted and complete, or repeat with force."""

    code = "removal_refused"


class ManagedMemoryUnavailable(Conflict):
    """There is no folder of memory here: it is switched off, out of reach, or on a system that cannot guard it."""

    code = "managed_memory_unavailable"


class StoreNotAdopted(Conflict):
    """The store was not made here. If you trust whoever made it, run `commonplace trust --store` with its path."""

    code = "store_not_adopted"


class TrustedRecord(Conflict):
    """What comes from outside does not change a record that a person wrote or approved. Put it under another key."""

    code = "trusted_record"


class NotInReview(Conflict):
    """
    It is not in quarantine, or was rejected: there is nothing to decide here. `commonplace review list` shows what waits,
    `commonplace review list --rejected` what was rejected.
    """

    code = "not_in_review"


class InvalidTransition(Conflict):
    """Knowledge goes from working to promoted to approved_default, and from each of them to deprecated, which is final."""

    code = "invalid_transition"


# ---- work that failed: the store, a model, a file, or ourselves


class StoreError(CommonplaceError):
    """The store could not do its work."""

    code = "store_error"
    status = 503


class StoreUnavailable(StoreError):
    """The store is out of reach. Nothing of this call was kept; try again when it is back."""

    code = "store_unavailable"


class DaemonUnavailable(StoreUnavailable):
    """No daemon answers at this address. Start one with `commonplace serve`, or correct COMMONPLACE_URL."""

    code = "daemon_unavailable"


class StoreBusy(StoreError):
    """Another process has held the store's write lock for too long. Try again, or end that process."""

    code = "store_busy"


class StoreReadOnly(StoreError):
    """The store cannot be written: check the permissions of the file and of the folder around it."""

    code = "store_read_only"


class StoreFull(StoreError):
    """The disk is full. Nothing of this call was kept; make room and try again."""

    code = "store_full"
    status = 507


class StoreCorrupt(StoreError):
    """The store's file is damaged. Run `commonplace doctor`, or restore a backup."""

    code = "store_corrupt"
    status = 500


class NotAStore(StoreError):
    """The file is not a Commonplace store. It was left untouched; choose another path."""

    code = "not_a_store"
    status = 400


class StoreTooNew(StoreError):
    """The store was written by a newer Commonplace. Upgrade this one to open it; it was left untouched."""

    code = "store_too_new"
    status = 400


class StoreClosed(StoreError):
    """The memory is closed. Open it again."""

    code = "store_closed"


class InternalError(CommonplaceError):
    """Something went wrong on our side. The log tells more under the id of this request."""

    code = "internal_error"


class FileError(CommonplaceError):
    """A file of memory could not be read or written. Check its permissions and the room on the disk."""

    code = "file_error"


class MemoryWriteTimeout(FileError):
    """Another program has held the lock of this file for 30 seconds. Try again, or end that program."""

    code = "memory_write_timeout"


class ModelError(CommonplaceError):
    """The language model did not do what it was asked."""

    code = "model_error"
    status = 502


class ModelUnavailable(ModelError):
    """The language model cannot be reached, or has too much to do. Try again in a while."""

    code = "model_unavailable"
    status = 503


class ModelTimeout(ModelError):
    """The language model took too long and was given up. Try again, or raise the timeout in [llm]."""

    code = "model_timeout"
    status = 504


class ModelRefused(ModelError):
    """The language model does not accept this. Check model and api_key in [llm]; the same again will be refused again."""

    code = "model_refused"


class ModelMalformed(ModelError):
    """The language model's answer is not what was asked for. Try again, or choose another model in [llm]."""

    code = "model_malformed"


class EmbedderError(CommonplaceError):
    """The embedder could not turn text into vectors."""

    code = "embedder_error"
    status = 502


class EmbedderUnavailable(EmbedderError):
    """The embedder is not available here. Choose another one, or `none` to search by words only."""

    code = "embedder_unavailable"
    status = 503


class EmbedderChanged(EmbedderError):
    """The store holds vectors of another embedder. Run `commonplace reindex`, or open it with the embedder it knows."""

    code = "embedder_changed"
    status = 409


class WrongDimension(EmbedderError):
    """The embedder answered with a vector of another size than its own. Nothing was stored."""

    code = "wrong_dimension"


# ---- jobs of managed memory that failed


class RememberQueueFull(QueueFull):
    """Too many tasks of this memory wait already: 16, of which 8 may be to forget or to dream. Poll one until it ends."""

    code = "remember_queue_full"


class RememberPathEscape(PathEscape):
    """The agent tried to write outside the folders of memory. All that it wrote was taken back."""

    code = "remember_path_escape"


class LaneError(CommonplaceError):
    """A task of managed memory came to no end."""

    code = "lane_error"


class RememberFailed(LaneError):
    """It could not be remembered. Try again, or look at the log of the daemon."""

    code = "remember_failed"


class ForgetFailed(LaneError):
    """It could not be forgotten. Try again, or look at the log of the daemon."""

    code = "forget_failed"


class DreamFailed(LaneError):
    """The memory could not be tidied. Try again, or look at the log of the daemon."""

    code = "dream_failed"


class DreamLost(DreamFailed):
    """The model left out something that was remembered. All that it did was taken back; rules tidied instead."""

    code = "dream_lost"


class DreamBudgetReached(DreamFailed):
    """The dream might have cost more than it may. Rules tidied instead; dream_budget_usd in [llm] says how much it may."""

    code = "dream_budget_reached"


class LaneTimeout(LaneError):
    """A task of managed memory took too long and was given up."""

    code = "lane_timeout"
    status = 504


class RememberTimeout(LaneTimeout):
    """It took too long to remember and was given up. Nothing was changed; try again, with less at a time."""

    code = "remember_timeout"


class ForgetTimeout(LaneTimeout):
    """It took too long to forget and was given up. Try again."""

    code = "forget_timeout"


class DreamTimeout(LaneTimeout):
    """It took too long to tidy the memory, which was given up. Try again."""

    code = "dream_timeout"


class RememberTaskNotFound(NotFound):
    """There is no such task, it was another client's, or it ended long ago."""

    code = "remember_task_not_found"


class ForgetTaskNotFound(NotFound):
    """There is no such task, it was another client's, or it ended long ago."""

    code = "forget_task_not_found"


class DreamTaskNotFound(NotFound):
    """There is no such task, it was another client's, or it ended long ago."""

    code = "dream_task_not_found"
