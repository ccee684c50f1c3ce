"""Work that could not be done: by the store, a model, a file, or by us."""

from __future__ import annotations

from commonplace.errors.root import CommonplaceError


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
