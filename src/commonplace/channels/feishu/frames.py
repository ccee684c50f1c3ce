"""
The binary frames of Feishu's long connection: a message of protobuf with nine fields, written and read by hand.

Fields that we do not know are left out; whatever else bytes may be is a ValueError.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

CONTROL: Final = 0
DATA: Final = 1

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MASK: Final = (1 << 64) - 1
_FIXED_SIZES: Final = {_FIXED64: 8, _FIXED32: 4}


@dataclass(frozen=True, kw_only=True, slots=True)
class BinaryFrame:
    """`method`: CONTROL or DATA. The same header may come several times; the first counts."""

    method: int
    service: int = 0
    sequence: int = 0
    log: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    payload: bytes = b""
    payload_encoding: str = ""
    payload_type: str = ""
    log_name: str = ""

    def header(self, name: str) -> str:
        """Empty: there is none."""
        return next((value for key, value in self.headers if key == name), "")


def encode_frame(frame: BinaryFrame) -> bytes:
    parts = [
        _number(1, frame.sequence),
        _number(2, frame.log),
        _number(3, frame.service),
        _number(4, frame.method),
        *(_chunk(5, _chunk(1, key.encode()) + _chunk(2, value.encode())) for key, value in frame.headers),
    ]
    for number, text in ((6, frame.payload_encoding), (7, frame.payload_type)):
        if text:
            parts.append(_chunk(number, text.encode()))
    if frame.payload:
        parts.append(_chunk(8, frame.payload))
    if frame.log_name:
        parts.append(_chunk(9, frame.log_name.encode()))
    return b"".join(parts)


def decode_frame(content: bytes) -> BinaryFrame:
    """Raises ValueError: this is no frame, or half of one."""
    numbers: dict[int, int] = {}
    texts: dict[int, bytes] = {}
    headers: list[tuple[str, str]] = []
    for number, value in _fields(content):
        if isinstance(value, int):
            numbers[number] = value
        elif number == 5:
            headers.append(_header(value))
        else:
            texts[number] = value
    if 4 not in numbers:
        raise ValueError("A frame names its method.")
    return BinaryFrame(
        method=_signed(numbers[4]),
        service=_signed(numbers.get(3, 0)),
        sequence=numbers.get(1, 0),
        log=numbers.get(2, 0),
        headers=tuple(headers),
        payload=texts.get(8, b""),
        payload_encoding=texts.get(6, b"").decode(),
        payload_type=texts.get(7, b"").decode(),
        log_name=texts.get(9, b"").decode(),
    )


def _header(content: bytes) -> tuple[str, str]:
    fields = {number: value for number, value in _fields(content) if isinstance(value, bytes)}
    return fields.get(1, b"").decode(), fields.get(2, b"").decode()


def _fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    place = 0
    while place < len(content):
        tag, place = _varint(content, place)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, place = _varint(content, place)
            yield number, value
            continue
        if kind == _BYTES:
            size, place = _varint(content, place)
        elif kind in _FIXED_SIZES:
            size = _FIXED_SIZES[kind]
        else:
            raise ValueError(f"A field of a frame has the kind {kind}.")
        if number == 0 or place + size > len(content):
            raise ValueError("A frame ends in the middle of a field.")
        if kind == _BYTES:
            yield number, content[place : place + size]
        place += size


def _varint(content: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(content):
            raise ValueError("A frame ends in the middle of a number.")
        byte = content[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK, place
    raise ValueError("A number of a frame has more than 64 bits.")


def _signed(value: int) -> int:
    """A number of 32 bits, as the sender meant it."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def _number(number: int, value: int) -> bytes:
    return _encoded(number << 3 | _VARINT) + _encoded(value & _MASK)


def _chunk(number: int, content: bytes) -> bytes:
    return _encoded(number << 3 | _BYTES) + _encoded(len(content)) + content


def _encoded(value: int) -> bytes:
    content = bytearray()
    while value > 0x7F:
        content.append(value & 0x7F | 0x80)
        value >>= 7
    content.append(value)
    return bytes(content)
