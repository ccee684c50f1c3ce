"""`tools/mutants.toml` plants faults in the house as it is: a fault whose text is gone would prove nothing, and nobody would notice."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).parent.parent / "tools" / "mutants.py"


def load_tool() -> Any:
    spec = importlib.util.spec_from_file_location("mutants", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = module
    spec.loader.exec_module(module)
    return module


MUTANTS = load_tool()


@pytest.mark.parametrize("fault", MUTANTS.read_table(), ids=lambda fault: fault.name)
def test_every_fault_can_still_be_planted(fault: Any) -> None:
    assert fault.problem(MUTANTS.ROOT) is None
    assert fault.search != fault.replace


def test_a_fault_whose_text_is_gone_or_stands_there_twice_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\ntwo\n", encoding="utf-8")

    def problem(search: str, path: str = "a.py", test: str = "a.py") -> str | None:
        return MUTANTS.Fault(name="x", path=path, search=search, replace="", tests=[test]).problem(tmp_path)

    assert problem("one") is None
    assert problem("three") == "a.py has the text 0 times, not once"
    assert problem("two") == "a.py has the text 2 times, not once"
    assert problem("one", path="b.py") == "there is no file b.py"
    assert problem("one", test="b.py::test_it") == "there is no b.py::test_it"


def test_there_are_faults_in_every_part_of_the_house() -> None:
    parts = {Path(fault.path).parts[2] for fault in MUTANTS.read_table()}

    expected = "stores service memory guard jobs importing knowledge markdown doors server sdk cli console values agent channels"
    assert parts >= set(expected.split())


def test_there_are_faults_in_the_sessions_the_rooms_the_schedules_the_runs_and_their_files() -> None:
    paths = {fault.path.removeprefix("src/commonplace/") for fault in MUTANTS.read_table()}
    places = "channels/ service/history agent/live_session doors/qwen/session service/runs service/artifacts"

    for place in (*places.split(), "service/schedules", "values/schedule", "service/quarantine_reach"):
        assert any(path.startswith(place) for path in paths), place
