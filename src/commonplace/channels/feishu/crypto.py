"""How Feishu signs and encrypts what it sends to a webhook."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7

_BLOCK: Final = 16


def signature_of(timestamp: str, nonce: str, encrypt_key: str, body: bytes) -> str:
    """Over the body as it came, before anything is made of it."""
    return hashlib.sha256(f"{timestamp}{nonce}{encrypt_key}".encode() + body).hexdigest()


def encrypted(text: bytes, encrypt_key: str, iv: bytes) -> str:
    padder = PKCS7(_BLOCK * 8).padder()
    cipher = Cipher(AES256(_key(encrypt_key)), CBC(iv)).encryptor()
    return base64.b64encode(iv + cipher.update(padder.update(text) + padder.finalize()) + cipher.finalize()).decode()


def decrypted(text: str, encrypt_key: str) -> bytes:
    """Raises ValueError: it was not encrypted by this key."""
    content = base64.b64decode(text, validate=True)
    if len(content) < 2 * _BLOCK:
        raise ValueError("What is encrypted is too short.")
    cipher = Cipher(AES256(_key(encrypt_key)), CBC(content[:_BLOCK])).decryptor()
    unpadder = PKCS7(_BLOCK * 8).unpadder()
    return unpadder.update(cipher.update(content[_BLOCK:]) + cipher.finalize()) + unpadder.finalize()


def _key(encrypt_key: str) -> bytes:
    return hashlib.sha256(encrypt_key.encode()).digest()
