"""What tests write lies in a folder that is there as long as they last."""

import subprocess
import sys
from pathlib import Path

from tests import scratch
from tests.conftest import environment


def test_a_folder_in_use_stays_and_that_of_killed_tests_is_removed(
    tmp_path: Path,
) -> None:
    mine = scratch.made(tmp_path)
    code = "import pathlib, sys; from tests import scratch; scratch.made(pathlib.Path(sys.argv[1]))"
    line = [sys.executable, "-c", code, str(tmp_path)]  # it ends without tidying up
    subprocess.run(line, env=environment(), check=True)
    (mine / "kept.txt").write_text("kept")
    assert len(list(tmp_path.iterdir())) == 2
    scratch.swept(tmp_path)
    assert list(tmp_path.iterdir()) == [mine]
    assert (mine / "kept.txt").read_text() == "kept"


def test_a_place_without_room_or_that_is_none_is_not_used(tmp_path: Path) -> None:
    assert not scratch.fits(tmp_path / "gone")
    (tmp_path / "file").write_text("")
    assert not scratch.fits(tmp_path / "file")
