"""Files are written whole, for their owner's eyes, without formulas; a disk that takes no more
stops the run."""

import os
import stat
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undogmatic.errors import StorageError
from undogmatic.safety.files import (
    OWN,
    Log,
    as_written,
    check_writable,
    csv,
    harmless,
    make_own,
    write,
)


def test_a_file_is_replaced_whole_and_leaves_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "deep" / "run.json"
    write(path, "one")

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        with pytest.raises(
            StorageError,
            match=r"run\.json cannot be written \(No space left on device\)",
        ):
            write(path, "two")
    assert path.read_text() == "one"
    assert os.listdir(path.parent) == ["run.json"]


def test_what_quotes_judged_texts_is_its_owners_alone(tmp_path: Path) -> None:
    write(tmp_path / "a", "x", OWN)
    with Log(tmp_path / "b") as log:
        log.add("x")
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in "ab"} == {0o600}


def test_what_cannot_be_written_is_known_before_anything_is_paid_and_the_trial_leaves_nothing(
    tmp_path: Path,
) -> None:
    kept = tmp_path / "deep" / "fit.json"
    check_writable(kept)
    assert os.listdir(kept.parent) == []
    write(kept, "one")
    check_writable(kept)
    assert os.listdir(kept.parent) == ["fit.json"] and kept.read_text() == "one"
    for path, why in ((tmp_path / "deep", "it is a folder"), (kept / "below.json", "")):
        with pytest.raises(
            StorageError, match=rf"{path.name} cannot be written.*{why}"
        ):
            check_writable(path)


def test_a_line_that_a_full_disk_cuts_off_is_taken_back(tmp_path: Path) -> None:
    with Log(tmp_path / "log") as log:
        log.add("whole")
        file: Any = log._file

        def write_two(content: bytes) -> int:
            if len(content) <= 2:
                raise OSError(28, "No space left on device")
            return int(file.write(content[:2]))

        log._file = Mock(wraps=file, write=write_two)
        with pytest.raises(StorageError, match="No space left"):
            log.add("cut")
    assert (tmp_path / "log").read_text() == "whole\n"


@given(st.text(max_size=6) | st.from_regex(r"'?[=+\-@\t].*"))
def test_no_cell_is_a_formula_and_every_cell_comes_back(cell: str) -> None:
    shown = harmless(cell)
    assert as_written(shown) == cell
    if shown[:1] in tuple("=+-@\t\r"):
        float(shown)


def test_tables_are_written_harmless() -> None:
    frame = pd.DataFrame(
        {"item_id": ["=1+1", "-5", "a"], "score": [-1.5, 2.0, float("nan")]}
    )
    assert csv(frame) == "item_id,score\n'=1+1,-1.5\n-5,2.0\na,\n"


def test_where_files_have_no_owner_a_log_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows: there is no `os.geteuid`."""
    file = tmp_path / "score.log"
    file.write_text("{}\n")
    file.chmod(0o644)
    monkeypatch.delattr(os, "geteuid")
    make_own(file)
    assert file.stat().st_mode & 0o777 == 0o644
