"""Every error of Commonplace, in one tree.

    CommonplaceError
    ├── InvalidInput            the caller sent something that cannot be kept or asked
    │   ├── InvalidText         empty, NUL bytes, lone surrogates
    │   ├── TextTooLarge
    │   ├── InvalidScope
    │   ├── InvalidKey
    │   ├── InvalidImportance
    │   ├── InvalidQuery
    │   ├── InvalidFile         an export or an import that is not what it says
    │   └── SecretRefused       the scrub found what must never rest in memory
    ├── NotFound
    │   ├── RecordNotFound
    │   ├── VersionNotFound
    │   └── PathNotFound
    ├── Conflict
    │   ├── RecordChanged       somebody else wrote first
    │   └── NothingToUndo
    ├── StoreError              the store cannot do its work
    │   ├── StoreUnavailable    out of reach, or gone in mid-work
    │   ├── StoreBusy
    │   ├── StoreReadOnly
    │   ├── StoreFull
    │   ├── StoreCorrupt
    │   ├── NotAStore           the file is somebody else's
    │   ├── StoreTooNew
    │   └── StoreClosed
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


class InvalidFile(InvalidInput):
    """The file is not what was expected. Nothing was changed."""

    code = "invalid_file"


class SecretRefused(InvalidInput):
    """The text holds a private key or a cloud secret. Store where the secret lives, not the secret itself."""

    code = "secret_refused"
    status = 422


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


class NothingToUndo(Conflict):
    """The record stands at its first version: there is nothing to undo. Delete it if it should go."""

    code = "nothing_to_undo"


class StoreError(CommonplaceError):
    """The store could not do its work."""

    code = "store_error"
    status = 503


class StoreUnavailable(StoreError):
    """The store is out of reach. Nothing of this call was kept; try again when it is back."""

    code = "store_unavailable"


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
