"""Documents as text: PDF, plain text and Markdown; the step `extract` and the command."""

from __future__ import annotations

import asyncio
import hashlib
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from fpdf import FPDF

from tests.conftest import reference
from tests.constructs.faithfulness.printed import Printed, body, locked
from undogmatic.cli import main
from undogmatic.constructs.faithfulness import document
from undogmatic.constructs.faithfulness.document import NOTES, ExtractStep, read_document
from undogmatic.errors import DataError
from undogmatic.records.records import Failure, Item, Items

HEADER = "HARLOW v. HARBOUR BOARD"


@pytest.fixture
def opinion(tmp_path: Path) -> Path:
    """Five pages with header, number, a title on the first, and a sentence that runs over a footnote and a page."""
    made = Printed(HEADER)
    for page in range(1, 6):
        made.add_page()
        y = made.lines(*body(page, 18))
        if page == 2:
            made.lines("7 See the charter of the harbour, arti-", "cle 4, second part.", y=500, size=8)
        if page == 3:
            made.lines("\tA second paragraph of the third page is self-", "evident.", y=y)
    return made.saved(tmp_path / "opinion.pdf")


def test_headers_and_page_numbers_go_and_are_named(opinion: Path) -> None:
    found = read_document(opinion)
    assert found.pages == 5
    assert HEADER not in found.text
    assert "Page" not in found.text
    assert not re.search(r"^\W*\d\W*$", found.text, re.MULTILINE)
    assert [each.page for each in found.removed if each.text.startswith(HEADER)] == [1, 2, 3, 4, 5]
    assert [each.page for each in found.removed if each.text.startswith("-")] == [1, 2, 3, 4, 5]
    assert found.text.count("On day") == 5 * 18
    days = [int(day) for day in re.findall(r"On day (\d+)", found.text)]
    assert days == sorted(days)
    assert found.sha256 == hashlib.sha256(opinion.read_bytes()).hexdigest()
    assert found.words == len(found.text.split())


def test_footnotes_stand_behind_the_body_and_hyphens_are_joined(opinion: Path) -> None:
    found = read_document(opinion)
    assert found.notes == ("7 See the charter of the harbour, article 4, second part.",)
    before, after = found.text.split(NOTES)
    assert after.strip() == found.notes[0]
    assert "charter" not in before
    assert "self-evident." in before or "selfevident." in before
    assert "A second paragraph" in [each[:18] for each in before.split("\n\n")]


def test_a_word_that_a_page_divides_is_joined(tmp_path: Path) -> None:
    made = Printed(HEADER)
    made.add_page()
    made.lines(*body(1), "The order was never served on the appli-")
    made.add_page()
    made.lines("cant, who learned of it from a newspaper.", *body(2))
    assert "never served on the applicant, who" in read_document(made.saved(tmp_path / "a.pdf")).text


def test_headings_and_spaced_paragraphs_stand_alone(tmp_path: Path) -> None:
    made = Printed()
    made.add_page()
    y = made.lines(*body(1, 4))
    y = made.lines("The Question", x=170, y=y)
    y = made.lines(*body(2, 3), y=y)
    made.lines(*body(3, 3), y=y + 5)
    found = read_document(made.saved(tmp_path / "a.pdf")).text.split("\n\n")
    assert [each[:12] for each in found] == ["On day 4 and", "The Question", "On day 6 the ", "On day 9 lic"] or len(
        found
    ) == 4


def test_a_hyphen_that_belongs_to_the_word_stays() -> None:
    words = [
        "A receptionist works here, and a scheduler too; overtime is paid.",
        "The receptionist-",
        "scheduler over-",
        "time",
    ]
    from undogmatic.constructs.faithfulness.layout import PageLine, Vocabulary, joined

    text = joined([PageLine(each) for each in words], Vocabulary(words))
    assert text.endswith("The receptionist-scheduler overtime")
    capitals = ["QUITAÇÃO DE FINANCIA-", "MENTO. THE ANGLO-", "Saxon WAY"]
    assert (
        joined([PageLine(each) for each in capitals], Vocabulary(capitals))
        == "QUITAÇÃO DE FINANCIAMENTO. THE ANGLO-Saxon WAY"
    )
    verbs = ["Ele deve e ela se opõe. Deve-", "se pagar a aná-", "lise."]
    assert joined([PageLine(each) for each in verbs], Vocabulary(verbs)).endswith("Deve-se pagar a análise.")
    soft = ["en\u00ad", "gaged, time-and-a\u00ad", "half; a half", "1990-", "1995"]
    assert joined([PageLine(each) for each in soft], Vocabulary(soft)) == "engaged, time-and-a-half; a half 1990-1995"


def test_the_title_of_a_short_document_stays_though_its_pages_repeat_it(tmp_path: Path) -> None:
    made = Printed()
    for page in (1, 2, 3):
        made.add_page()
        made.lines("Harlow v. Harbour Board", y=30)
        made.lines(*body(page))
    found = read_document(made.saved(tmp_path / "a.pdf"))
    assert found.text.startswith("Harlow v. Harbour Board")
    assert found.text.count("Harlow") == 1
    assert [each.page for each in found.removed] == [2, 3]


def test_what_repeats_within_the_text_stays(tmp_path: Path) -> None:
    made = Printed()
    for page in range(1, 7):
        made.add_page()
        made.lines(*body(page, 10), "So ordered.", *body(page + 50, 10))
    found = read_document(made.saved(tmp_path / "a.pdf"))
    assert found.text.count("So ordered.") == 6
    assert not found.removed


def _scan(path: Path, pages: int, typed: tuple[int, ...] = ()) -> Path:
    made = FPDF()
    for n in range(1, pages + 1):
        made.add_page()
        made.rect(20, 20, 100, 100, style="F")
        if n in typed:
            made.set_font("Times", size=11)
            made.text(20, 200, "The appeal is allowed with costs in this court.")
    made.output(str(path))
    return path


def test_a_scan_is_named_and_a_page_without_text_is_warned_of(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"scan\.pdf: 3 page\(s\) and no text in them: most likely a scan\. .*ocrmypdf"):
        read_document(_scan(tmp_path / "scan.pdf", 3))
    found = read_document(_scan(tmp_path / "partly.pdf", 3, typed=(2,)))
    assert found.warnings == ("2 of 3 pages have no text, or hardly any (1, 3): perhaps pictures.",)


def test_a_password_is_named_but_a_file_that_anyone_may_open_is_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.pdf: protected by a password\. Take it off"):
        read_document(locked(tmp_path / "a.pdf", "secret"))
    assert read_document(locked(tmp_path / "b.pdf", "")).text == "The appeal is dismissed."


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.pdf", b"", "empty"),
        ("a.pdf", b"%PDF-1.7\nnothing of the kind", "not a PDF that can be read"),
        ("a.pdf", b"<html>Sign in to continue</html>", "not a PDF that can be read"),
        ("a.txt", b" \n\f\n", "empty"),
        ("a.txt", "ação".encode("latin-1"), "a.txt:1: not UTF-8"),
        ("a.md", b"a\0b", "holds a NUL byte"),
        ("a.docx", b"PK", r"not a document of a kind that is read \(.pdf, .txt, .md\)"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_document(tmp_path / name)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_document(tmp_path / "none.pdf")
    (tmp_path / "folder.pdf").mkdir()
    with pytest.raises(DataError, match="a folder"):
        read_document(tmp_path / "folder.pdf")


def test_what_is_too_large_is_named(opinion: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "PAGES", 4)
    with pytest.raises(DataError, match=r"opinion\.pdf: 5 pages; at most 4 pages .*Cut it"):
        read_document(opinion)
    monkeypatch.setattr(document, "PAGES", 40)
    monkeypatch.setattr(document, "LETTERS", 100)
    with pytest.raises(DataError, match="100 letters are read"):
        read_document(opinion)
    monkeypatch.setattr(document, "LARGEST", 100)
    with pytest.raises(DataError, match="larger than 100 bytes"):
        read_document(opinion)


def test_a_damaged_pdf_is_read_or_named_and_nothing_else(opinion: Path, tmp_path: Path) -> None:
    whole, rng = opinion.read_bytes(), random.Random(7)
    damaged = tmp_path / "damaged.pdf"
    refused = 0
    for _ in range(60):
        raw = bytearray(whole[: rng.randrange(len(whole))] if rng.random() < 0.3 else whole)
        for _ in range(rng.randrange(1, 30)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        damaged.write_bytes(raw)
        try:
            assert read_document(damaged).text
        except DataError as error:
            refused += 1
            assert "damaged.pdf" in str(error)
    assert 0 < refused < 60


def test_plain_text_is_joined_where_its_lines_are_wrapped_and_else_left(tmp_path: Path) -> None:
    page = "\n".join(body(1, 6))
    cut = (
        f"RUNNING HEAD\n{page}\nThe order was set a-\n\n1\n\fRUNNING HEAD\nside, with costs.\n\nIt is so ordered.\n2\n"
    )
    (tmp_path / "cut.txt").write_text(cut)
    found = read_document(tmp_path / "cut.txt")
    assert found.pages == 2
    assert "was set aside, with costs." in found.text
    assert found.text.endswith("\n\nIt is so ordered.")
    long = "One paragraph, one line. " * 20
    (tmp_path / "long.txt").write_text(f"{long}\n{long}\n")
    assert read_document(tmp_path / "long.txt").text == f"{long}\n{long}".strip()
    (tmp_path / "a.md").write_text("# Opinion\n\n- first\n- second\n")
    assert read_document(tmp_path / "a.md").text == "# Opinion\n\n- first\n- second"


def _counted(text: str) -> Counter[str]:
    """Words, those that a line end divides joined."""
    return Counter(re.findall(r"\w+", re.sub(r"(\w) ?[-\u00ad] *\n\s*(\w)", r"\1\2", text.lower())))


@pytest.mark.parametrize("name", ["19-encino", "3-brown"])
def test_the_words_of_a_stored_extraction_are_found_again(name: str) -> None:
    stored = _counted(reference(f"faith/pdf/{name}.extracted.txt").read_text(encoding="utf-8"))
    found = read_document(reference(f"faith/pdf/{name}.pdf"))
    said = _counted("\n".join([found.text, *(each.text for each in found.removed)]))
    assert sum((stored & said).values()) / sum(stored.values()) >= 0.995
    inside = _counted(found.text)
    assert len(stored.keys() & inside.keys()) / len(stored) >= 0.99  # nothing but headers has gone
    assert len(found.notes) >= 7
    assert len(found.removed) >= found.pages


@pytest.fixture
def short(tmp_path: Path) -> Path:
    made = Printed("HARLOW v. HARBOUR BOARD")
    for page in (1, 2, 3):
        made.add_page()
        made.lines(*body(page))
    return made.saved(tmp_path / "opinion.pdf")


def extracted(item: Item) -> Items | Failure:
    (record,) = asyncio.run(ExtractStep().process(item))
    assert not record.calls
    return record.outcome


def test_the_document_becomes_the_text_and_everything_else_stays(short: Path) -> None:
    sha256 = hashlib.sha256(short.read_bytes()).hexdigest()
    told = {"document_sha256": sha256, "year": 2020}
    found = extracted(Item(id="a", inputs={"document": str(short), "reference": "It held."}, metadata=told))
    assert isinstance(found, Items)
    (item,) = found.items
    assert (item.id, item.parent, item.maker) == ("a", "a", "extract")
    assert list(item.inputs) == ["opinion", "reference"]
    assert item.inputs["opinion"].startswith("On day 20")
    assert item.metadata == told | {"pages": 3, "words": len(item.inputs["opinion"].split())}


def test_what_cannot_be_read_is_a_failure_with_its_reason(short: Path, tmp_path: Path) -> None:
    other = Item(id="a", inputs={"document": str(short)}, metadata={"document_sha256": "0" * 64})
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


def test_the_command_writes_texts_and_a_table(short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n")
    main(["extract", str(short), str(tmp_path / "notes.md"), "--to", str(tmp_path / "texts")])
    assert (tmp_path / "texts" / "opinion.txt").read_text().startswith("On day 20")
    assert (tmp_path / "texts" / "notes.txt").read_text() == "# Notes\n"
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("opinion.pdf"))
    assert row.split()[:5] == ["opinion.pdf", "3", str(len(read(tmp_path / "texts" / "opinion.txt").split())), "6", "0"]
    main(["extract", str(short)])
    assert read(tmp_path / "opinion.txt") == read(tmp_path / "texts" / "opinion.txt")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_command_goes_on_past_a_file_that_fails_and_ends_with_1(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["extract", str(tmp_path / "none.pdf"), str(short)])
    assert ended.value.code == 1
    said = capsys.readouterr()
    assert "none.pdf" in said.out and "not written" in said.out
    assert "error: " in said.err and "1 of 2 files gave no text." in said.err
    assert (tmp_path / "opinion.txt").exists()


def test_the_command_overwrites_nothing_unasked(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "opinion.txt").write_text("my own notes\n")
    with pytest.raises(SystemExit):
        main(["extract", str(short)])
    assert "opinion.txt is there already, with another text" in capsys.readouterr().err
    assert read(tmp_path / "opinion.txt") == "my own notes\n"
    main(["extract", str(short), "--overwrite"])
    main(["extract", str(short)])  # the same text again is no conflict
    main(["extract", str(tmp_path / "opinion.txt")])
    assert (tmp_path / "opinion.extracted.txt").exists()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "opinion.pdf").write_bytes(short.read_bytes())
    with pytest.raises(SystemExit) as ended:
        main(["extract", str(short), str(tmp_path / "b" / "opinion.pdf"), "--to", str(tmp_path / "texts")])
    assert ended.value.code == 2
    assert "would both become" in capsys.readouterr().err
