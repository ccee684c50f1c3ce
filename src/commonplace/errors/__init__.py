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
    │   ├── InvalidContent      what a memory file was to hold is no text
    │   │   └── ContentTooLarge
    │   └── MemoryFileTooLarge  a file of memory has grown beyond what is read
    ├── Unauthenticated         no key, or one that opens nothing
    │   ├── TokenRequired       the route asks for a key even where none is asked for otherwise
    │   └── CapabilityExpired
    ├── Forbidden               known, and not allowed
    │   ├── HostNotAllowed      the request was meant for another host
    │   ├── OriginNotAllowed    a page of somebody else sent it
    │   ├── CapabilityMismatch  the capability is for another run, place or person
    │   ├── TierNotAllowed
    │   ├── TierNotStorable     no record can be kept in a tier of that name
    │   ├── ReviewRequired      somebody has to approve first
    │   ├── UntrustedSource     what came from outside is not shared unreviewed
    │   ├── PathEscape          a path that leads, or may lead, out of the folders of memory
    │   │   └── RememberPathEscape  and an agent tried to write there
    │   └── QueryTooBroad       it asks for everything there is
    ├── TooManyRequests
    │   ├── TooManyListeners    every place at the stream of events is taken
    │   ├── QueueFull           too many tasks of managed memory wait already
    │   ├── BudgetExhausted     what may be recalled in a window of time is used up
    │   └── SpendingCapReached  what a model may cost, in a task or a day, is used up
    ├── TimedOut
    │   └── BodyTooSlow
    ├── NotFound
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
    │   ├── ManagedMemoryUnavailable    no folder of memory here
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

from commonplace.errors.access import (
    BodyTooSlow,
    BudgetExhausted,
    CapabilityExpired,
    CapabilityMismatch,
    Forbidden,
    HostNotAllowed,
    OriginNotAllowed,
    PathEscape,
    QueryTooBroad,
    ReviewRequired,
    SpendingCapReached,
    TierNotAllowed,
    TierNotStorable,
    TimedOut,
    TokenRequired,
    TooManyListeners,
    TooManyRequests,
    Unauthenticated,
    UntrustedSource,
)
from commonplace.errors.input import (
    BodyTooLarge,
    ContentTooLarge,
    IdempotencyKeyReused,
    InvalidClientId,
    InvalidContent,
    InvalidContextMode,
    InvalidFile,
    InvalidImportance,
    InvalidInput,
    InvalidJson,
    InvalidKey,
    InvalidMode,
    InvalidQuery,
    InvalidScope,
    InvalidText,
    MemoryFileTooLarge,
    MethodNotAllowed,
    PreconditionRequired,
    SecretRefused,
    TextTooLarge,
)
from commonplace.errors.lanes import (
    DreamBudgetReached,
    DreamFailed,
    DreamLost,
    DreamTaskNotFound,
    DreamTimeout,
    ForgetFailed,
    ForgetTaskNotFound,
    ForgetTimeout,
    LaneError,
    LaneTimeout,
    QueueFull,
    RememberFailed,
    RememberPathEscape,
    RememberTaskNotFound,
    RememberTimeout,
)
from commonplace.errors.root import CommonplaceError
from commonplace.errors.state import (
    AddressTaken,
    AlreadyAnswered,
    Conflict,
    FileChanged,
    FilePreconditionFailed,
    InvalidTransition,
    ManagedMemoryUnavailable,
    NotFound,
    NothingToUndo,
    NotInReview,
    PathNotFound,
    PreconditionFailed,
    PurgeRefused,
    RecordChanged,
    RecordNotFound,
    RouteNotFound,
    TrustedRecord,
    VersionNotFound,
)
from commonplace.errors.work import (
    DaemonUnavailable,
    EmbedderChanged,
    EmbedderError,
    EmbedderUnavailable,
    FileError,
    InternalError,
    MemoryWriteTimeout,
    ModelError,
    ModelMalformed,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    NotAStore,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
    WrongDimension,
)

__all__ = [
    "AddressTaken",
    "AlreadyAnswered",
    "BodyTooLarge",
    "BodyTooSlow",
    "BudgetExhausted",
    "CapabilityExpired",
    "CapabilityMismatch",
    "CommonplaceError",
    "Conflict",
    "ContentTooLarge",
    "DaemonUnavailable",
    "DreamBudgetReached",
    "DreamFailed",
    "DreamLost",
    "DreamTaskNotFound",
    "DreamTimeout",
    "EmbedderChanged",
    "EmbedderError",
    "EmbedderUnavailable",
    "FileChanged",
    "FileError",
    "FilePreconditionFailed",
    "Forbidden",
    "ForgetFailed",
    "ForgetTaskNotFound",
    "ForgetTimeout",
    "HostNotAllowed",
    "IdempotencyKeyReused",
    "InternalError",
    "InvalidClientId",
    "InvalidContent",
    "InvalidContextMode",
    "InvalidFile",
    "InvalidImportance",
    "InvalidInput",
    "InvalidJson",
    "InvalidKey",
    "InvalidMode",
    "InvalidQuery",
    "InvalidScope",
    "InvalidText",
    "InvalidTransition",
    "LaneError",
    "LaneTimeout",
    "ManagedMemoryUnavailable",
    "MemoryFileTooLarge",
    "MemoryWriteTimeout",
    "MethodNotAllowed",
    "ModelError",
    "ModelMalformed",
    "ModelRefused",
    "ModelTimeout",
    "ModelUnavailable",
    "NotAStore",
    "NotFound",
    "NotInReview",
    "NothingToUndo",
    "OriginNotAllowed",
    "PathEscape",
    "PathNotFound",
    "PreconditionFailed",
    "PreconditionRequired",
    "PurgeRefused",
    "QueryTooBroad",
    "QueueFull",
    "RecordChanged",
    "RecordNotFound",
    "RememberFailed",
    "RememberPathEscape",
    "RememberTaskNotFound",
    "RememberTimeout",
    "ReviewRequired",
    "RouteNotFound",
    "SecretRefused",
    "SpendingCapReached",
    "StoreBusy",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreTooNew",
    "StoreUnavailable",
    "TextTooLarge",
    "TierNotAllowed",
    "TierNotStorable",
    "TimedOut",
    "TokenRequired",
    "TooManyListeners",
    "TooManyRequests",
    "TrustedRecord",
    "Unauthenticated",
    "UntrustedSource",
    "VersionNotFound",
    "WrongDimension",
]
