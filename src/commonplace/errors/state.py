"""What is not there, and what does not fit what is there."""

from __future__ import annotations

from commonplace.errors.root import CommonplaceError


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


class ManagedMemoryUnavailable(Conflict):
    """There is no folder of memory here: it is switched off, out of reach, or on a system that cannot guard it."""

    code = "managed_memory_unavailable"


class TrustedRecord(Conflict):
    """What comes from outside does not change a record that a person wrote or approved. Put it under another key."""

    code = "trusted_record"


class NotInReview(Conflict):
    """It is not in quarantine: there is nothing to release or to purge here. `commonplace review` lists what is."""

    code = "not_in_review"


class InvalidTransition(Conflict):
    """Knowledge goes from working to promoted to approved_default, and from each of them to deprecated, which is final."""

    code = "invalid_transition"
