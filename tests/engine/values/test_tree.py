"""Addresses in the context tree."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import InvalidInput
from commonplace.values.scope import Scope
from commonplace.values.tree import TreePlace, read_uri


@pytest.mark.parametrize(
    ("uri", "scope"),
    [
        ("commonplace://resources/web", "workspace:web"),
        ("tandem://resources/web/", "workspace:web"),
        ("commonplace://user/ada/memories", "user:ada"),
        ("commonplace://agent/scout/skills", "agent:scout"),
        ("COMMONPLACE://session/s1", "session:s1"),
        ("commonplace://channel/dingtalk%2Froom%207", "channel:dingtalk/room 7"),
        ("commonplace://global", "global"),
    ],
)
def test_a_folder_is_a_scope(uri: str, scope: str) -> None:
    place = read_uri(uri)

    assert place.scope == Scope.parse(scope)
    assert place.path == ()


@pytest.mark.parametrize(
    "uri", ["", "https://example.com", "commonplace:/x", "commonplace://team/x", "commonplace://user//x",
            "commonplace://user/%ff", "commonplace://user/" + "x" * 5_000]
)  # fmt: skip
def test_what_is_no_address_is_refused(uri: str) -> None:
    with pytest.raises(InvalidInput):
        read_uri(uri)


def test_letters_of_any_script_stay_readable_in_an_address() -> None:
    place = TreePlace("resources", "网站", path=("部署", "café au lait.md"))

    assert place.uri == "commonplace://resources/网站/部署/café%20au%20lait.md"
    assert read_uri(place.uri) == place


def test_a_key_in_an_address_of_before_is_the_path_of_today() -> None:
    assert read_uri("commonplace://resources/web/docs%2Fdeploy.md").steps == ("docs", "deploy.md")
    assert read_uri("tandem://resources/web/docs/deploy.md").steps == ("docs", "deploy.md")


IDS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Co", "Cn", "Zl", "Zp")), min_size=1, max_size=30)
NAMES = IDS.filter(lambda name: name not in ("memories", "skills"))


@given(
    kind=st.sampled_from(["agent", "channel", "resources", "session", "user"]),
    id=IDS,
    alias=st.sampled_from([None, "memories"]),
    path=st.lists(NAMES, max_size=4),
)
def test_an_address_that_was_written_is_read_the_same(kind: str, id: str, alias: str | None, path: list[str]) -> None:
    place = TreePlace(kind, id, alias if kind in ("agent", "user") else None, tuple(path))

    assert read_uri(place.uri) == place


@given(id=IDS, path=st.lists(NAMES, max_size=4))
def test_a_place_is_below_each_of_its_parents(id: str, path: list[str]) -> None:
    place: TreePlace | None = TreePlace("resources", id, path=tuple(path))
    uris: list[str] = []
    while place is not None:
        uris.append(place.uri)
        place = place.parent

    assert uris[-1] == "commonplace://"
    assert len(uris) == len(path) + 3
    assert all(longer.startswith(shorter) for longer, shorter in itertools.pairwise(uris))
