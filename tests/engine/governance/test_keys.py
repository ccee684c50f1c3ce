"""Secrets that nobody can guess, and that are known by their hash alone."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.governance.keys import new_key_secret, new_token, new_user_secret, same_hash, secret_hash


@pytest.mark.parametrize(
    ("made", "prefix"), [(new_key_secret, "cp_"), (new_user_secret, "uk_"), (new_token, "")], ids=["key", "user", "token"]
)  # fmt: skip
def test_a_secret_has_its_prefix_and_32_bytes_of_chance(made: object, prefix: str) -> None:
    assert callable(made)

    secrets = {str(made()) for _ in range(100)}

    assert len(secrets) == 100
    assert all(re.fullmatch(rf"{prefix}[A-Za-z0-9]{{43}}", secret) for secret in secrets)


@given(st.text(), st.text())
def test_two_secrets_have_one_hash_only_when_they_are_the_same(a: str, b: str) -> None:
    assert same_hash(secret_hash(a), secret_hash(b)) == (a == b)
    assert len(secret_hash(a)) == 32


def test_a_secret_that_is_no_proper_text_still_has_a_hash() -> None:
    assert not same_hash(secret_hash("cp_\udcff"), secret_hash("cp_"))
