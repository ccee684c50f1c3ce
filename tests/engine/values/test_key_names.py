"""What a key may be called, and which patterns it may have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import InvalidInput
from commonplace.values.principal import ScopePattern, check_key_name

CONTROL = st.characters(categories=["Cc", "Cf", "Zl", "Zp", "Cs"])


@given(begin=st.text(max_size=5), control=CONTROL, end=st.text(max_size=5))
def test_no_control_character_comes_into_a_pattern(begin: str, control: str, end: str) -> None:
    with pytest.raises(InvalidInput):
        ScopePattern.parse(f"workspace:{begin}{control}{end}")


@pytest.mark.parametrize(
    "name", ["operator", "local", "anonymous", "Operator", " local ", "key/abc", "KEY/", "", "a\0b", " "]
)
def test_no_key_is_called_what_the_audit_calls_somebody_else(name: str) -> None:
    with pytest.raises(InvalidInput):
        check_key_name(name)


@pytest.mark.parametrize("name", ["ci", "operators", "the operator", "local-ci", "monkey/abc", "世界"])
def test_other_names_are_free(name: str) -> None:
    assert check_key_name(name) == name
