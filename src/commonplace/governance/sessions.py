"""
What is in a session's cookie and in a one-time code: a hash of the key that was shown, a nonce, an end, and a signature.

Nothing of it is kept anywhere: whoever has the signing secret knows a pass of its own again. Only that one was ended before its
time has to be kept, under its nonce. A code is never a session, nor the other way round: each kind has a salt of its own.
`itsdangerous` signs and verifies.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from itsdangerous import URLSafeSerializer

PassKind = Literal["session", "code"]

SESSION_LASTS: Final = timedelta(hours=12)
CODE_LASTS: Final = timedelta(minutes=1)

# A pass of another kind or version has another salt, and so another signature.
_SALTS: Final[dict[PassKind, bytes]] = {"session": b"commonplace session 2", "code": b"commonplace code 2"}
_SIGNER: Final[dict[str, Any]] = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
_LONGEST: Final = 300
_NONCE: Final = 16
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
    nonce = secrets.token_bytes(_NONCE)
    return _serializer(secret, kind).dumps([int(ends_at.timestamp() * 1000), nonce.hex(), hashed.hex()])


def verify(secret: bytes, kind: PassKind, text: str, now: datetime) -> Pass | None:
    """The pass in `text`; None if it is not of this kind, not signed with this secret, or expired."""
    # Part of the extra `server`, as below.
    from itsdangerous import BadData  # noqa: PLC0415

    if len(text) > _LONGEST or not text.isascii():
        return None
    serializer = _serializer(secret, kind)
    try:
        signed: Any = serializer.loads(text)
    except BadData:
        return None
    # Base64 can be written in more than one way, and only one of them is what we signed.
    if serializer.dumps(signed) != text:
        return None
    ends, nonce, hashed = signed
    ends_at = datetime.fromtimestamp(ends / 1000, UTC)
    return Pass(kind=kind, hashed=bytes.fromhex(hashed), nonce=nonce, ends_at=ends_at) if now < ends_at else None


def whose(secret: bytes, hashed: bytes) -> str:
    """What all sessions of a key have in common. It is safe to store: nobody can check guesses of a key with it."""
    return hmac.digest(secret, _WHOSE + hashed, "sha256").hex()


def _serializer(secret: bytes, kind: PassKind) -> URLSafeSerializer:
    # Part of the extra `server`: only a daemon has sessions.
    from itsdangerous import URLSafeSerializer  # noqa: PLC0415

    return URLSafeSerializer(secret, salt=_SALTS[kind], signer_kwargs=_SIGNER)
