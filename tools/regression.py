"""Logistic regression by L-BFGS in plain numpy: the same weights every time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_DECAY = 3e-4
_STEPS = 300
_KEPT = 12


def learned(values: NDArray[np.float32], sides: Numbers, amounts: Numbers) -> Numbers:
    """The weights for which the loss is least. `sides`: 1 or -1 a row; `amounts`: how much the row counts."""
    decay = np.full(values.shape[1], _DECAY)
    decay[-1] = 1e-6

    def loss(weights: Numbers) -> tuple[float, Numbers]:
        margin = sides * (values @ weights.astype(np.float32))
        slope = values.T @ (amounts * sides / (1 + np.exp(np.clip(margin, -50, 50)))).astype(np.float32)
        value = float(amounts @ np.logaddexp(0, -margin) + 0.5 * (decay * weights) @ weights)
        return value, decay * weights - slope

    weights = np.zeros(values.shape[1])
    value, slope = loss(weights)
    steps: list[tuple[Numbers, Numbers]] = []
    for _ in range(_STEPS):
        way = _direction(slope, steps)
        size = 1.0 if steps else min(1.0, 1 / float(np.abs(slope).sum()))
        while True:
            next_value, next_slope = loss(weights + size * way)
            if next_value <= value + 1e-4 * size * float(slope @ way) or size < 1e-8:
                break
            size /= 2
        if float((next_slope - slope) @ way) > 0:
            steps = [*steps, (size * way, next_slope - slope)][-_KEPT:]
        weights = weights + size * way
        gain = value - next_value
        value, slope = next_value, next_slope
        if gain < 1e-7:
            break
    return weights


def _direction(slope: Numbers, steps: list[tuple[Numbers, Numbers]]) -> Numbers:
    """Downhill, bent by what the last steps told about the curvature."""
    way = -slope
    shares: list[float] = []
    for step, change in reversed(steps):
        shares.append(float(step @ way) / float(step @ change))
        way = way - shares[-1] * change
    if steps:
        step, change = steps[-1]
        way = way * float(step @ change) / float(change @ change)
    for (step, change), share in zip(steps, reversed(shares), strict=True):
        way = way + step * (share - float(change @ way) / float(step @ change))
    return way
