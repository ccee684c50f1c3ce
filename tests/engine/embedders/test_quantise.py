import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import WrongDimension
from commonplace.values.vector import Floats, from_bytes, to_bytes


def unit_rows(count: int, size: int, seed: int) -> Floats:
    rows = np.random.default_rng(seed).standard_normal((count, size)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@given(st.integers(1, 8), st.integers(1, 512), st.integers(0, 1000))
def test_a_vector_comes_back_pointing_the_same_way(count: int, size: int, seed: int) -> None:
    rows = unit_rows(count, size, seed)

    back = from_bytes(to_bytes(rows))

    assert back.shape == rows.shape
    assert (np.einsum("ij,ij->i", rows, back) > 0.9999).all()


@given(st.sampled_from([64, 256, 384, 1536]), st.integers(0, 1000))
def test_a_cosine_of_two_vectors_changes_by_less_than_a_hundredth(size: int, seed: int) -> None:
    rows = unit_rows(20, size, seed)

    back = from_bytes(to_bytes(rows))

    assert np.abs(back @ back.T - rows @ rows.T).max() < 0.01


def test_a_vector_is_one_byte_a_dimension_and_its_largest_number_is_127() -> None:
    (packed,) = to_bytes(np.array([[0.6, -0.8, 0.0]], dtype=np.float32))

    assert np.frombuffer(packed, dtype=np.int8).tolist() == [95, -127, 0]


def test_zeros_stay_zeros() -> None:
    assert not from_bytes(to_bytes(np.zeros((2, 4), dtype=np.float32))).any()


def test_nothing_is_nothing() -> None:
    assert to_bytes(np.zeros((0, 4), dtype=np.float32)) == []
    assert from_bytes([]).shape[0] == 0


def test_vectors_of_two_sizes_are_never_put_together() -> None:
    with pytest.raises(WrongDimension):
        from_bytes([b"\x01\x02", b"\x01"])
