"""What is signed is known again; whatever else is shown is not."""

import hmac
import struct
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.governance.sessions import PassKind, new_signing_secret, sign, signing_secret, verify

NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
SECRET = bytes(range(32))
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
kinds = st.sampled_from(["session", "code"])
hashes = st.binary(min_size=32, max_size=32)


@given(kinds, hashes, st.integers(1, 10**9))
def test_what_was_signed_is_known_again_until_its_end(kind: PassKind, hashed: bytes, seconds: int) -> None:
    ends_at = NOW + timedelta(seconds=seconds)

    shown = sign(SECRET, kind, hashed, ends_at)
    found = verify(SECRET, kind, shown, NOW)

    assert set(shown) <= set(LETTERS)
    assert found is not None
    assert (found.kind, found.hashed, found.ends_at) == (kind, hashed, ends_at)
    assert verify(SECRET, kind, shown, ends_at - timedelta(milliseconds=1)) == found
    assert verify(SECRET, kind, shown, ends_at) is None


@given(kinds, hashes, st.data())
def test_with_any_bit_flipped_it_is_refused(kind: PassKind, hashed: bytes, data: st.DataObject) -> None:
    shown = sign(SECRET, kind, hashed, NOW + timedelta(minutes=1))
    # One may be longer than the next: what is signed is compressed.
    at = data.draw(st.integers(0, 299)) % len(shown)
    bit = data.draw(st.integers(0, 7))

    flipped = shown[:at] + chr(ord(shown[at]) ^ (1 << bit)) + shown[at + 1 :]

    assert verify(SECRET, kind, flipped, NOW) is None


def test_another_letter_at_any_place_is_refused() -> None:
    shown = sign(SECRET, "session", bytes(32), NOW + timedelta(minutes=1))

    # The last letter of base64 has bits that stand for nothing.
    changed = [shown[:at] + letter + shown[at + 1 :] for at in range(len(shown)) for letter in LETTERS]

    assert {one for one in changed if verify(SECRET, "session", one, NOW)} == {shown}


@given(st.text(max_size=300))
def test_whatever_else_is_shown_is_refused_without_an_error(shown: str) -> None:
    assert verify(SECRET, "session", shown, NOW) is None
    assert verify(SECRET, "code", shown, NOW) is None


@given(hashes)
def test_a_code_is_no_session_and_a_session_no_code(hashed: bytes) -> None:
    ends_at = NOW + timedelta(minutes=1)
    code, session = (sign(SECRET, kind, hashed, ends_at) for kind in ("code", "session"))

    assert verify(SECRET, "session", code, NOW) is None
    assert verify(SECRET, "code", session, NOW) is None


@pytest.mark.parametrize("kind", ["session", "code"])
def test_a_pass_of_the_former_version_is_refused_without_an_error(kind: PassKind) -> None:
    head = {"session": "s1", "code": "c1"}[kind]
    inside = struct.pack(">q16s32s", int(NOW.timestamp() * 1000) + 60_000, bytes(16), bytes(32))
    body = f"{head}.{urlsafe_b64encode(inside).rstrip(b'=').decode()}"
    signature = urlsafe_b64encode(hmac.digest(SECRET, body.encode(), "sha256")).rstrip(b"=").decode()

    assert verify(SECRET, kind, f"{body}.{signature}", NOW) is None


def test_what_another_secret_signed_is_refused() -> None:
    shown = sign(new_signing_secret(), "session", bytes(32), NOW + timedelta(minutes=1))

    assert verify(SECRET, "session", shown, NOW) is None
    assert verify(signing_secret("a token"), "session", shown, NOW) is None


def test_no_two_are_the_same() -> None:
    made = {sign(SECRET, "code", bytes(32), NOW) for _ in range(100)}

    assert len(made) == 100


@pytest.mark.parametrize("token", ["a", "a token of the operator's", "\udcff"])
def test_the_signing_secret_is_the_same_wherever_the_token_is_and_is_not_the_token(token: str) -> None:
    made = signing_secret(token)

    assert len(made) == 32
    assert made == signing_secret(token)
    assert made != signing_secret(f"{token}x")
    assert token.encode("utf-8", "surrogatepass") not in made or len(token) == 1
