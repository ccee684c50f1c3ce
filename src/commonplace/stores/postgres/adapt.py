"""Our two array types as PostgreSQL reads and writes them, byte for byte: words as bigint[], vectors as halfvec."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from psycopg import AsyncConnection
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format
from psycopg.types import TypeInfo

from commonplace.text.postings import hashes

_INT8 = 20
_INT8_ARRAY = 1016
_SERIAL = 0x7FFF_FFFF
# Each signed byte as a big-endian half.
_HALVES = np.arange(256, dtype=np.uint8).view(np.int8).astype(">f2")


@dataclass(frozen=True, slots=True)
class Words:
    """The terms of a passage as the index of one scope holds them: the scope's serial above each hash."""

    packed: bytes
    scope: int


@dataclass(frozen=True, slots=True)
class Signed:
    """A vector, a signed byte a dimension."""

    values: bytes


def tokens(scope: int, terms: Sequence[int]) -> list[int]:
    """What stands for these terms of this scope in the index."""
    above = (scope & _SERIAL) << 32
    return [above | term for term in terms]


class WordsDumper(Dumper):
    format = Format.BINARY
    oid = _INT8_ARRAY

    def dump(self, obj: Words) -> Buffer:
        numbers = tokens(obj.scope, hashes(obj.packed))
        if not numbers:
            return struct.pack(">iii", 0, 0, _INT8)
        flat = [part for token in numbers for part in (8, token)]
        return struct.pack(">iiiii" + "iq" * len(numbers), 1, 0, _INT8, len(numbers), 1, *flat)


class _SignedDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Signed) -> Buffer:
        halves = _HALVES[np.frombuffer(obj.values, dtype=np.uint8)].tobytes()
        return struct.pack(">hh", len(obj.values), 0) + halves


def register(connection: AsyncConnection[Any], halfvec: TypeInfo) -> None:
    """Teach `connection` to take `Words` and `Signed`; `halfvec` has another number in each database."""
    halfvec.register(connection)
    dumper = type("SignedDumper", (_SignedDumper,), {"oid": halfvec.oid})
    connection.adapters.register_dumper(Words, WordsDumper)
    connection.adapters.register_dumper(Signed, dumper)


def signed(halves: Sequence[bytes | None]) -> list[bytes | None]:
    """Vectors as the database sends them (binary), as signed bytes again. All at once: there may be 100,000."""
    there = [half for half in halves if half is not None]
    if not there:
        return [None] * len(halves)
    values = np.frombuffer(b"".join([bytes(half[4:]) for half in there]), dtype=">f2").astype(np.int8).tobytes()
    vectors: list[bytes | None] = []
    begin = 0
    for half in halves:
        if half is None:
            vectors.append(None)
            continue
        size = (len(half) - 4) // 2
        vectors.append(values[begin : begin + size])
        begin += size
    return vectors
