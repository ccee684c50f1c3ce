"""
What is in a session's cookie and in a one-time code: a hash of the key that was shown, a nonce, an end, and a signature.

Nothing of it is kept anywhere: whoever has the signing secret knows a pass of its own again. Only that one was ended before its
time has to be kept, under its nonce. A code is never a session, nor the other way round: the kind is signed, too.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal

PassKind = Literal["session", "code"]

SESSION_LASTS: Final = timedelta(hours=12)
CODE_LASTS: Final = timedelta(minutes=1)

_HEADS: Final[dict[PassKind, str]] = {"session": "s1", "code": "c1"}
_LONGEST: Final = 200
_NONCE: Final = 16
# When it ends, in milliseconds since 1970; the nonce; the hash of the key.
_INSIDE: Final = struct.Struct(f">q{_NONCE}s32s")
_PURPOSE: Final = b"commonplace sessions 1"
_WHOSE: Final = b"all sessions of "
# A signature lets whoever holds one try tokens in peace, and an operator may have chosen a short one.
_ROUNDS: Final = 200_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Pass:
    """What a good signature vouches for. `hashed` is the hash of the key it stands for."""

    kind: PassKind
    hashed: bytes
    nonce: str
    ends_at: datetime


@lru_cache(maxsize=8)
def signing_secret(token: str) -> bytes:
    """The same at every daemon that has the operator's token; another as soon as the token is."""
    return hashlib.pbkdf2_hmac("sha256", token.encode("utf-8", "surrogatepass"), _PURPOSE, _ROUNDS)


def new_signing_secret() -> bytes:
    """For a process without a token: its passes are valid until it ends."""
    return secrets.token_bytes(32)


def sign(secret: bytes, kind: PassKind, hashed: bytes, ends_at: datetime) -> str:
    """A new pass, of letters that a cookie and an address can hold."""
    inside = _INSIDE.pack(int(ends_at.timestamp() * 1000), secrets.token_bytes(_NONCE), hashed)
    return _signed(secret, f"{_HEADS[kind]}.{_written(inside)}")


def verify(secret: bytes, kind: PassKind, text: str, now: datetime) -> Pass | None:
    """The pass in `text`; None if it is not of this kind, not signed with this secret, or expired."""
    if len(text) > _LONGEST or not text.isascii():
        return None
    body = text.rpartition(".")[0]
    head, _, inside = body.partition(".")
    # The whole text is compared, not the bytes it stands for: those may be written in more than one way.
    if not hmac.compare_digest(_signed(secret, body), text) or head != _HEADS[kind]:
        return None
    try:
        ends, nonce, hashed = _INSIDE.unpack(urlsafe_b64decode(inside + "=" * (-len(inside) % 4)))
    except (NotBase64, struct.error):
        return None
    ends_at = datetime.fromtimestamp(ends / 1000, UTC)
    return Pass(kind=kind, hashed=hashed, nonce=nonce.hex(), ends_at=ends_at) if now < ends_at else None


def whose(secret: bytes, hashed: bytes) -> str:
    """What all sessions of a key have in common. It is safe to store: nobody can check guesses of a key with it."""
    return hmac.digest(secret, _WHOSE + hashed, "sha256").hex()


def _signed(secret: bytes, body: str) -> str:
    return f"{body}.{_written(hmac.digest(secret, body.encode(), 'sha256'))}"


def _written(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
