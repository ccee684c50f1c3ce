"""In which folders the tools of an agent may work, and for whom."""

from pathlib import Path

import pytest

from commonplace.errors import InvalidInput
from commonplace.governance.work_folders import FolderForbidden, WorkFolders
from commonplace.values.principal import Principal

OPERATOR = Principal(subject="local", tenant="acme", role="admin", operator=True)
ADMIN = Principal(subject="key/1", tenant="acme", role="admin")
WRITER = Principal(subject="ana", tenant="acme", role="writer")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("home/agents", "open/web", "open-payroll", "closed"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


@pytest.fixture
def folders(place: Path) -> WorkFolders:
    return WorkFolders(roots=(place / "open",), home=place / "home")


def test_the_operator_works_anywhere_but_in_our_own_home(folders: WorkFolders, place: Path) -> None:
    assert folders.require(OPERATOR, str(place / "closed")) == (place / "closed").resolve()
    for ours in ("home", "home/agents", "open/../home/agents/permissions"):
        with pytest.raises(FolderForbidden):
            folders.require(OPERATOR, f"{place}/{ours}")


@pytest.mark.parametrize("who", [ADMIN, WRITER], ids=["admin", "writer"])
def test_everybody_else_stays_below_the_roots_by_real_path(folders: WorkFolders, place: Path, who: Principal) -> None:
    (place / "open" / "way-out").symlink_to(place / "closed")

    assert folders.allows(who, str(place / "open"))
    assert folders.allows(who, str(place / "open" / "web"))
    for outside in ("open-payroll", "closed", "open/../closed", "open/way-out", "home", "", "open/web/../../closed"):
        assert not folders.allows(who, f"{place}/{outside}"), outside


def test_without_roots_only_the_operator_names_a_folder(place: Path) -> None:
    folders = WorkFolders()

    assert folders.allows(OPERATOR, str(place))
    assert not folders.allows(ADMIN, str(place))


@pytest.mark.parametrize("folder", ["web", "./web", "~/web", "/srv/\x00web", ""])
def test_what_is_no_whole_path_is_refused(folder: str) -> None:
    with pytest.raises(InvalidInput):
        WorkFolders().require(OPERATOR, folder)


def test_a_home_that_is_a_link_is_closed_where_it_leads(place: Path) -> None:
    (place / "link").symlink_to(place / "home")

    assert not WorkFolders(home=place / "link").allows(OPERATOR, str(place / "home" / "agents"))
