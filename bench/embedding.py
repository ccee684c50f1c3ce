"""How many short texts a second each embedder reads, on this machine, one beside the other: who else is busy slows all of them alike."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.machine import ROOT
from bench.scale import scratch
from bench.sets import own
from commonplace.embedders.gte import TOKENIZER, WEIGHTS, GteEmbedder
from commonplace.embedders.models import add_model
from commonplace.embedders.static import StaticEmbedder
from commonplace.errors import EmbedderUnavailable
from commonplace.testing.gte import published_model

_MODEL: Final = "gte-small"
_ROUNDS: Final = 3


@contextmanager
def home_with_model(embedder: str) -> Generator[None]:
    """If `embedder` asks for the model, a home folder that has it, from the package that `make test` fetches."""
    if _MODEL not in embedder.split(","):
        yield
        return
    before = os.environ.get("COMMONPLACE_HOME")
    with scratch("home") as home:
        add_model(_MODEL, home / "models", _published())
        os.environ["COMMONPLACE_HOME"] = str(home)
        try:
            yield
        finally:
            del os.environ["COMMONPLACE_HOME"]
            if before is not None:
                os.environ["COMMONPLACE_HOME"] = before


def _published() -> Path:
    folder = published_model(ROOT)
    if folder is None:
        raise EmbedderUnavailable("The model is not here: `make install` fetches it.")
    return folder


def measure() -> list[dict[str, Any]]:
    """The texts of our own English set, by each embedder in turn, a few rounds; the best round counts."""
    [world] = own("english")
    texts = [note.text for _, note in world.notes] + [turn.text for talk in world.talks for turn in talk.turns]
    with scratch("embedding") as folder:
        small = GteEmbedder(add_model(_MODEL, folder / "models", _published()))
        whole = folder / "whole"
        whole.mkdir()
        shutil.copy(_published() / "onnx" / "model.onnx", whole / WEIGHTS)
        shutil.copy(_published() / TOKENIZER, whole / TOKENIZER)
        embedders: dict[str, Callable[[Sequence[str]], Any]] = {
            "gte-small, eight bits": small.embed_now,
            "gte-small as published": GteEmbedder(whole).embed_now,
            "static": StaticEmbedder().embed_now,
        }
        best = dict.fromkeys(embedders, (float("inf"), float("inf")))
        for _ in range(_ROUNDS):
            for name, embed in embedders.items():
                best[name] = min(best[name], _seconds(embed, texts))
    slowest = max(wall for wall, _ in best.values())
    return [
        {
            "embedder": name,
            "texts": len(texts),
            "texts_per_s": round(len(texts) / wall),
            "texts_per_core_s": round(len(texts) / core),
            "times_the_slowest": round(slowest / wall, 2),
        }
        for name, (wall, core) in best.items()
    ]


def _seconds(embed: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> tuple[float, float]:
    """By the clock, and of all cores together."""
    embed(texts[:16])
    wall, core = time.perf_counter(), time.process_time()
    embed(texts)
    return time.perf_counter() - wall, time.process_time() - core
