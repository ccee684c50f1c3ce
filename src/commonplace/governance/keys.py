"""Secrets that are shown once: how they are made, and how one is known again without being kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import string
from typing import Final

KEY_PREFIX: Final = "cp_"
USER_PREFIX: Final = "uk_"

_LETTERS: Final = string.ascii_letters + string.digits
# 62 ** 43 is a little more than 2 ** 256: at least 32 bytes of chance. No mark in it needs quoting anywhere.
_LENGTH: Final = 43


def new_key_secret() -> str:
    """The secret of a key: `cp_…`."""
    return KEY_PREFIX + _chance()


def new_user_secret() -> str:
    """The key of a user of the gateway: `uk_…`."""
    return USER_PREFIX + _chance()


def new_token() -> str:
    """The daemon's own token, where the operator gave none."""
    return _chance()


def secret_hash(secret: str) -> bytes:
    """What is kept of a secret. It is long and made by chance, so that a plain SHA-256 is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def same_hash(a: bytes, b: bytes) -> bool:
    """Takes the same time wherever two hashes differ."""
    return hmac.compare_digest(a, b)


def _chance() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
