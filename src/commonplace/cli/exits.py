"""What a script can read from the exit code. `commonplace --help` shows this table; nothing else decides a code."""

from enum import IntEnum

from commonplace.errors import (
    CommonplaceError,
    Conflict,
    InvalidFile,
    InvalidInput,
    NotFound,
    SecretRefused,
    StoreBusy,
    StoreClosed,
    StoreUnavailable,
)


class Exit(IntEnum):
    OK = 0
    ERROR = 1
    USAGE = 2
    NOTHING_FOUND = 3
    CONFLICT = 4
    UNAVAILABLE = 5
    REFUSED = 6
    NOT_PERMITTED = 7
    TIMED_OUT = 124
    INTERRUPTED = 130


MEANING = {
    Exit.OK: "done",
    Exit.ERROR: "error",
    Exit.USAGE: "wrong use or input",
    Exit.NOTHING_FOUND: "nothing found",
    Exit.CONFLICT: "conflict: somebody wrote first",
    Exit.UNAVAILABLE: "store unavailable or busy: try again",
    Exit.REFUSED: "refused: the text holds a secret",
    Exit.NOT_PERMITTED: "the agent answered without a permission that it asked for",
    Exit.TIMED_OUT: "no answer in time",
    Exit.INTERRUPTED: "interrupted",
}

# The class nearest to the error decides.
_OF_ERROR: dict[type[CommonplaceError], Exit] = {
    CommonplaceError: Exit.ERROR,
    InvalidInput: Exit.USAGE,
    InvalidFile: Exit.ERROR,
    SecretRefused: Exit.REFUSED,
    NotFound: Exit.NOTHING_FOUND,
    Conflict: Exit.CONFLICT,
    StoreUnavailable: Exit.UNAVAILABLE,
    StoreBusy: Exit.UNAVAILABLE,
    StoreClosed: Exit.UNAVAILABLE,
}


def exit_of(error: CommonplaceError) -> Exit:
    return next(_OF_ERROR[kind] for kind in type(error).__mro__ if kind in _OF_ERROR)


def table() -> str:
    """One line, for the end of `--help`."""
    return " · ".join(f"{code.value} {meaning}" for code, meaning in MEANING.items())
