"""The step `extract`, and the command: text, or a reason that is counted."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from tests.constructs.faithfulness.printed import Printed, body, locked
from undogmatic.cli import main
from undogmatic.constructs.faithfulness.document import ExtractStep
from undogmatic.errors import DataError
from undogmatic.records.records import Failure, Item, Items


@pytest.fixture
def opinion(tmp_path: Path) -> Path:
    made = Printed("HARLOW v. HARBOUR BOARD")
    for page in (1, 2, 3):
        made.add_page()
        made.lines(*body(page))
    return made.saved(tmp_path / "opinion.pdf")


def extracted(item: Item) -> Items | Failure:
    (record,) = asyncio.run(ExtractStep().process(item))
    assert not record.calls
    return record.outcome


def test_the_document_becomes_the_text_and_everything_else_stays(opinion: Path) -> None:
    sha256 = hashlib.sha256(opinion.read_bytes()).hexdigest()
    told = {"document_sha256": sha256, "year": 2020}
    found = extracted(Item(id="a", inputs={"document": str(opinion), "reference": "It held."}, metadata=told))
    assert isinstance(found, Items)
    (item,) = found.items
    assert (item.id, item.parent, item.maker) == ("a", "a", "extract")
    assert list(item.inputs) == ["opinion", "reference"]
    assert item.inputs["opinion"].startswith("On day 20")
    assert item.metadata == told | {"pages": 3, "words": len(item.inputs["opinion"].split())}


def test_what_cannot_be_read_is_a_failure_with_its_reason(opinion: Path, tmp_path: Path) -> None:
    other = Item(id="a", inputs={"document": str(opinion)}, metadata={"document_sha256": "0" * 64})
    closed = Item(id="b", inputs={"document": str(locked(tmp_path / "closed.pdf", "secret"))})
    missing = Item(id="c", inputs={"document": "nowhere.pdf"})
    for item, said in (
        (other, "another file than expected"),
        (closed, "protected by a password"),
        (missing, "nowhere"),
    ):
        outcome = extracted(item)
        assert isinstance(outcome, Failure)
        assert outcome.reason == "unparseable"
        assert said in outcome.message


def test_an_item_with_its_text_stays_and_one_with_neither_is_named() -> None:
    found = extracted(Item(id="a", inputs={"opinion": "It is so ordered.", "reference": "It held."}))
    assert isinstance(found, Items)
    assert found.items[0].inputs == {"opinion": "It is so ordered.", "reference": "It held."}
    with pytest.raises(DataError, match=r"item 'a' has neither an input `document` nor `opinion` \(it has: text\)"):
        extracted(Item(id="a", text="t"))


def test_the_command_writes_texts_and_a_table(
    opinion: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n")
    main(["extract", str(opinion), str(tmp_path / "notes.md"), "--to", str(tmp_path / "texts")])
    assert (tmp_path / "texts" / "opinion.txt").read_text().startswith("On day 20")
    assert (tmp_path / "texts" / "notes.txt").read_text() == "# Notes\n"
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("opinion.pdf"))
    assert row.split()[:5] == ["opinion.pdf", "3", str(len(read(tmp_path / "texts" / "opinion.txt").split())), "6", "0"]
    main(["extract", str(opinion)])
    assert read(tmp_path / "opinion.txt") == read(tmp_path / "texts" / "opinion.txt")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_command_goes_on_past_a_file_that_fails_and_ends_with_1(
    opinion: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["extract", str(tmp_path / "none.pdf"), str(opinion)])
    assert ended.value.code == 1
    said = capsys.readouterr()
    assert "none.pdf" in said.out and "not written" in said.out
    assert "error: " in said.err and "1 of 2 files gave no text." in said.err
    assert (tmp_path / "opinion.txt").exists()


def test_the_command_overwrites_nothing_unasked(
    opinion: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "opinion.txt").write_text("my own notes\n")
    with pytest.raises(SystemExit):
        main(["extract", str(opinion)])
    assert "opinion.txt is there already, with another text" in capsys.readouterr().err
    assert read(tmp_path / "opinion.txt") == "my own notes\n"
    main(["extract", str(opinion), "--overwrite"])
    main(["extract", str(opinion)])  # the same text again is no conflict
    main(["extract", str(tmp_path / "opinion.txt")])
    assert (tmp_path / "opinion.extracted.txt").exists()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "opinion.pdf").write_bytes(opinion.read_bytes())
    with pytest.raises(SystemExit) as ended:
        main(["extract", str(opinion), str(tmp_path / "b" / "opinion.pdf"), "--to", str(tmp_path / "texts")])
    assert ended.value.code == 2
    assert "would both become" in capsys.readouterr().err
