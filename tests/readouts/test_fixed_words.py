"""The fixed sentences around a prompt, which are read once as long as their file stays what it
is."""

from pathlib import Path

import pytest

from tests.conftest import put
from undogmatic.config import groups
from undogmatic.errors import ConfigError
from undogmatic.readouts.prompt import language
from undogmatic.safety.paths import conf_folder


def test_a_language_is_read_again_when_its_file_changes_and_only_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "_latest", [f"file://{tmp_path}"])
    shipped = (conf_folder() / "language" / "en.yaml").read_text(encoding="utf-8")
    (answer,) = (line for line in shipped.splitlines() if line.startswith("answer:"))
    put(tmp_path / "language" / "mine.yaml", shipped)
    before = language("mine")
    assert language("mine") is before and before.answer == language("en").answer
    put(
        tmp_path / "language" / "mine.yaml",
        shipped.replace(answer, "answer: Their answer"),
    )
    assert language("mine").answer == "Their answer"
    (tmp_path / "language" / "mine.yaml").unlink()
    with pytest.raises(ConfigError, match="'mine'"):
        language("mine")


def test_a_folder_that_is_searched_no_longer_gives_no_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = (conf_folder() / "language" / "en.yaml").read_text(encoding="utf-8")
    put(tmp_path / "language" / "mine.yaml", shipped)
    monkeypatch.setattr(groups, "_latest", [f"file://{tmp_path}"])
    language("mine")
    monkeypatch.setattr(groups, "_latest", [])
    with pytest.raises(ConfigError, match="'mine'"):
        language("mine")
