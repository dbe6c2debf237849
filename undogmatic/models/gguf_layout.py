"""The layout of a GGUF file, looked through before llama.cpp is given it: lengths that are there, tensors inside it.

https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Sequence

from undogmatic.safety.outside import Unreadable

VERSIONS = (2, 3)
MOST_ENTRIES, MOST_VALUES = 65_536, 4_000_000
"""Tensors or pairs of metadata, and values in one array (a vocabulary has some 260,000 words)."""
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value by its type."""
_TEXT, _ARRAY = 8, 9
_ALIGNMENT = b"general.alignment"


class _Reader:
    def __init__(self, content: bytes | mmap.mmap) -> None:
        self.content, self.end, self.place = content, len(content), 4

    def number(self, form: str) -> int:
        size = struct.calcsize(form)
        self.skip(size)
        found: int = struct.unpack(form, self.content[self.place - size : self.place])[0]
        return found

    def skip(self, size: int) -> None:
        if size > self.end - self.place:
            raise Unreadable(f"it ends inside its header (byte {self.place:,}); it may be cut off")
        self.place += size

    def count(self, form: str, most: int, what: str) -> int:
        found = self.number(form)
        if found > most:
            raise Unreadable(f"its header speaks of {found:,} {what}")
        return found

    def text(self) -> bytes:
        size = self.number("<Q")
        self.skip(size)
        return self.content[self.place - min(size, 256) : self.place]

    def texts(self, count: int) -> None:
        """A vocabulary: the same as `text` each time, at a fifth of the time."""
        place, end, content, read = self.place, self.end, self.content, struct.Struct("<Q").unpack_from
        for _ in range(count):
            if place + 8 > end:
                place = end + 1
                break
            place += 8 + read(content, place)[0]
        self.skip(min(place, end + 1) - self.place)

    def value(self, kind: int) -> None:
        if kind in _SIZES:
            self.skip(_SIZES[kind])
        elif kind == _TEXT:
            self.skip(self.number("<Q"))
        elif kind == _ARRAY:
            inner, count = self.number("<I"), self.count("<Q", MOST_VALUES, "values in one array")
            if inner in _SIZES:
                self.skip(_SIZES[inner] * count)
            elif inner == _TEXT:
                self.texts(count)
            else:
                raise Unreadable(f"its header has an array of the unknown type {inner}")
        else:
            raise Unreadable(f"its header has a value of the unknown type {kind}")


def check(content: bytes | mmap.mmap) -> None:
    """Look through a file that begins with GGUF. Raises Unreadable saying what is wrong."""
    reader = _Reader(content)
    version = reader.number("<I")
    if version not in VERSIONS:
        raise Unreadable(f"it has version {version}; llama.cpp reads {VERSIONS[0]} and {VERSIONS[1]}")
    tensors = reader.count("<Q", MOST_ENTRIES, "tensors")
    pairs = reader.count("<Q", MOST_ENTRIES, "pairs of metadata")
    alignment = 32
    for _ in range(pairs):
        key, kind = reader.text(), reader.number("<I")
        if key == _ALIGNMENT and kind == 4:
            alignment = reader.number("<I")
        else:
            reader.value(kind)
    if not 8 <= alignment <= 65_536 or alignment & (alignment - 1):
        raise Unreadable(f"its alignment is {alignment}")
    offsets = [_tensor(reader) for _ in range(tensors)]
    begin = -(-reader.place // alignment) * alignment
    if offsets and begin + max(offsets) >= reader.end:
        raise Unreadable(f"its tensors reach beyond its end ({reader.end:,} bytes); it may be cut off")


def _tensor(reader: _Reader) -> int:
    """The offset of one tensor; at least half a bit per value must follow the last."""
    reader.text()
    count = reader.count("<I", 4, "dimensions of a tensor")
    shape: Sequence[int] = [reader.number("<Q") for _ in range(count)]
    values = math.prod(shape)
    reader.number("<I")
    offset = reader.number("<Q")
    if not all(shape) or values // 16 > reader.end:
        raise Unreadable(f"one of its tensors has the shape {list(shape)}, more than the file holds")
    return offset + values // 16
