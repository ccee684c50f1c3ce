"""Who reaches which scope, by hand: near-collisions of ids, and the same name twice."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.testing.callers import caller
from commonplace.values.principal import Key, ScopePattern
from commonplace.values.scope import Scope

WEB, PAYROLL, SHORTER = Scope("workspace", "web"), Scope("workspace", "web-payroll"), Scope("workspace", "we")


@pytest.mark.parametrize(
    ("pattern", "scope", "fits"),
    [
        ("workspace:web", WEB, True),
        ("workspace:web", PAYROLL, False),
        ("workspace:web", SHORTER, False),
        ("workspace:web", Scope("workspace", "Web"), False),
        ("workspace:web", Scope("agent", "web"), False),
        ("workspace:web", Scope("user", "web"), False),
        ("workspace:web-payroll", WEB, False),
        ("workspace:web*", WEB, True),
        ("workspace:web*", PAYROLL, True),
        ("workspace:web*", SHORTER, False),
        ("workspace:web-*", WEB, False),
        ("workspace:web-*", PAYROLL, True),
        ("workspace:web-*", Scope("user", "web-payroll"), False),
        ("workspace:*", Scope("user", "workspace"), False),
        ("user:ana", Scope("user", "anabel"), False),
        ("user:ana", Scope("user", "ana:web"), False),
        ("session:7", Scope("session", "70"), False),
        ("channel:d/1", Scope("channel", "d/10"), False),
        ("global", Scope("global"), True),
        ("global", Scope("workspace", "global"), False),
        ("*", PAYROLL, True),
    ],
)
def test_a_pattern_without_a_star_names_one_scope_and_no_longer_or_shorter_id(
    pattern: str, scope: Scope, fits: bool
) -> None:
    assert ScopePattern(pattern).fits(scope) is fits
    assert caller("reader", pattern).reaches(scope) is fits


ids = st.text(alphabet="web-payroll7/:", min_size=1, max_size=12)


@given(ids, ids)
def test_of_two_ids_the_pattern_of_one_never_fits_the_other(one: str, other: str) -> None:
    pattern = ScopePattern(f"workspace:{one}")

    assert pattern.fits(Scope("workspace", one))
    assert pattern.fits(Scope("workspace", other)) is (one == other)
    assert not pattern.fits(Scope("user", one))


def test_a_key_without_patterns_is_not_at_home_in_a_longer_name_than_its_own() -> None:
    ana = caller("writer", name="ana")

    assert ana.reaches(Scope("user", "ana"))
    assert not ana.reaches(Scope("user", "ana-maria"))
    assert not ana.reaches(Scope("user", "an"))
    assert not ana.reaches(Scope("session", "ana"))


def test_two_keys_of_the_same_name_and_person_are_two_callers() -> None:
    one = replace(caller("writer", name="ci"), key="01890000-0000-7000-8000-000000000001")
    other = replace(one, key="01890000-0000-7000-8000-000000000002")

    assert one.actor == other.actor
    assert one.identity != other.identity


def test_no_person_can_be_called_as_a_key_is() -> None:
    key = replace(caller("writer"), key="01890000-0000-7000-8000-000000000001")
    person = caller("writer", name=key.identity)

    assert person.identity != key.identity


def test_a_key_opens_something_until_the_moment_it_expires_and_not_in_it() -> None:
    end = datetime(2026, 3, 1, tzinfo=UTC)
    key = Key(id="k", name="ci", tenant="acme/web", role="reader", created_at=end, created_by="ana", expires_at=end)

    assert [key.is_good(end + timedelta(milliseconds=ms)) for ms in (-1, 0, 1)] == [True, False, False]
