"""Which sentences cannot both be true, by rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.conflict import conflict


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We ship on Fridays", "We ship on Mondays"),
        ("The backup runs at 3:00", "The backup runs every night at 4:30 now"),
        ("The contract ends on 1 March", "The contract ends on 15 May"),
        ("The proxy listens on port 8080", "The proxy is on port 8443"),
        ("The soup takes two onions", "Use four onions for the soup"),
        ("Deploys are allowed on Friday", "Deploys are not allowed on Friday"),
        ("The cache is enabled", "The cache is disabled"),
        ("Run migrations before the deploy", "Run migrations after the deploy"),
        ("The spare key is under the mat", "The spare key is in the shed"),
        ("Ana lives in Lisbon", "Ana lives in Porto"),
        ("例会每周一上午十点开", "例会每周四上午十点开"),
        ("保修期是两年", "保修期是三年"),
        ("生产库可以直接修改", "生产库不可以直接修改"),
        ("合同放在档案室", "合同放在财务办公室"),
    ],
)
def test_different_values_of_one_thing_conflict_in_either_order(one: str, other: str) -> None:
    assert conflict(one, other)
    assert conflict(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "The releases of the billing team go out on Mondays.",
            "The releases of the search team go out on Wednesdays.",
        ),
        ("The release of Atlas is on Monday", "The release of Borealis is on Tuesday"),
        ("Ana's brother lives in Lisbon", "Bob's brother lives in Porto"),
        ("The shop opens at 9:00", "The shop closes at 18:00"),
        ("Ana lives in Lisbon", "Ana lives in Lisbon near the river"),
        ("The call is on Tuesday", "The call is on Tuesday and Thursday"),
        ("The deposit is 200 pounds", "The deposit is returned within ten days"),
        ("The cache is not enabled", "The cache is disabled"),
        ("Do we ship on Fridays?", "We ship on Mondays"),
        ("例会每周一上午十点开", "例会由小林主持"),
        ("", "We ship on Mondays"),
    ],
)
def test_what_says_more_or_is_about_something_else_does_not(one: str, other: str) -> None:
    assert not conflict(one, other)
    assert not conflict(other, one)


@given(st.text(max_size=80))
def test_no_text_conflicts_with_itself(text: str) -> None:
    sentence = text.replace(".", " ")
    assert not any(conflict(part, part) for part in sentence.splitlines())


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_conflict_has_no_direction(one: str, other: str) -> None:
    assert conflict(one, other) == conflict(other, one)
