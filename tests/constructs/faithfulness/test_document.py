"""Documents as text: PDF, plain text and Markdown; the step `extract` and the command."""

import asyncio
import hashlib
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import Capture, Patch, reference
from tests.constructs.faithfulness.printed import Printed, body, locked, printed
from undogmatic.cli import main
from undogmatic.constructs.faithfulness import document
from undogmatic.constructs.faithfulness.document import (
    NOTES,
    ExtractStep,
    PageLine,
    joined,
    read_document,
    vocabulary,
)
from undogmatic.errors import DataError
from undogmatic.records.records import Failure, Item, Items

HEADER = "HARLOW v. HARBOUR BOARD"
LONG = ("One paragraph, one line. " * 20).strip()


@pytest.fixture
def opinion(tmp_path: Path) -> Path:
    """Five pages with header, number, a title on the first, and a sentence that runs over a
    footnote and a page."""
    made = Printed(HEADER)
    for page in range(1, 6):
        made.add_page()
        y = made.lines(*body(page, 18))
        if page == 2:
            made.lines(
                "7 See the charter of the harbour, arti-",
                "cle 4, second part.",
                y=500,
                size=8,
            )
        if page == 3:
            made.lines(
                "\tA second paragraph of the third page is self-", "evident.", y=y
            )
    return made.saved(tmp_path / "opinion.pdf")


def test_headers_and_page_numbers_go_and_are_named_footnotes_come_last_and_hyphens_are_joined(
    opinion: Path,
) -> None:
    found = read_document(opinion)
    assert found.pages == 5
    assert HEADER not in found.text and "Page" not in found.text
    assert not re.search(r"^\W*\d\W*$", found.text, re.MULTILINE)
    for beginning in (HEADER, "-"):
        assert [
            each.page for each in found.removed if each.text.startswith(beginning)
        ] == [
            1,
            2,
            3,
            4,
            5,
        ]
    days = [int(day) for day in re.findall(r"On day (\d+)", found.text)]
    assert days == sorted(days) and len(days) == 5 * 18
    assert found.sha256 == hashlib.sha256(opinion.read_bytes()).hexdigest()
    assert found.notes == ("7 See the charter of the harbour, article 4, second part.",)
    before, after = found.text.split(NOTES)
    assert after.strip() == found.notes[0] and "charter" not in before
    assert "self-evident." in before or "selfevident." in before
    assert "A second paragraph" in [each[:18] for each in before.split("\n\n")]


def test_a_word_that_a_page_divides_is_joined_and_headings_and_spaced_paragraphs_stand_alone() -> (
    None
):
    first = [*body(1), "The order was never served on the appli-"]
    path = printed(
        "a.pdf",
        first,
        ["cant, who learned of it from a newspaper.", *body(2)],
        header=HEADER,
    )
    assert "never served on the applicant, who" in read_document(path).text
    made = Printed()
    made.add_page()
    y = made.lines(*body(1, 4))
    y = made.lines("The Question", x=170, y=y)
    y = made.lines(*body(2, 3), y=y)
    made.lines(*body(3, 3), y=y + 5)
    found = read_document(made.saved(Path("a.pdf"))).text.split("\n\n")
    assert len(found) == 4 and found[1] == "The Question"


@pytest.mark.parametrize(
    ("lines", "end"),
    [
        (
            [
                "A receptionist works, a scheduler too; overtime is paid.",
                "The receptionist-",
                "scheduler over-",
                "time",
            ],
            "The receptionist-scheduler overtime",
        ),
        (
            ["QUITAÇÃO DE FINANCIA-", "MENTO. THE ANGLO-", "Saxon WAY"],
            "QUITAÇÃO DE FINANCIAMENTO. THE ANGLO-Saxon WAY",
        ),
        (
            ["Ele deve e ela se opõe. Deve-", "se pagar a aná-", "lise."],
            "Deve-se pagar a análise.",
        ),
        (
            ["en\u00ad", "gaged, time-and-a\u00ad", "half; a half", "1990-", "1995"],
            "engaged, time-and-a-half; a half 1990-1995",
        ),
    ],
)
def test_a_hyphen_that_belongs_to_the_word_stays(lines: list[str], end: str) -> None:
    assert joined([PageLine(line) for line in lines], vocabulary(lines)).endswith(end)


def test_a_title_that_the_pages_of_a_short_document_repeat_stays_and_what_repeats_within_the_text() -> (
    None
):
    made = Printed()
    for page in (1, 2, 3):
        made.add_page()
        made.lines("Harlow v. Harbour Board", y=30)
        made.lines(*body(page))
    found = read_document(made.saved(Path("a.pdf")))
    assert (
        found.text.startswith("Harlow v. Harbour Board")
        and found.text.count("Harlow") == 1
    )
    assert [each.page for each in found.removed] == [2, 3]
    pages = (
        [*body(page, 10), "So ordered.", *body(page + 50, 10)] for page in range(1, 7)
    )
    found = read_document(printed("a.pdf", *pages))
    assert found.text.count("So ordered.") == 6 and not found.removed


def _scan(path: Path, pages: int, typed: tuple[int, ...] = ()) -> Path:
    made = Printed()
    for n in range(1, pages + 1):
        made.add_page()
        made.rect(20, 20, 100, 100, style="F")
        if n in typed:
            made.lines("The appeal is allowed with costs in this court.", y=200)
    return made.saved(path)


def test_a_scan_or_a_password_is_named_and_what_has_text_or_anyone_may_open_is_read(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        DataError,
        match=r"scan\.pdf: 3 page\(s\) and no text in them: most likely a scan\. .*ocrmypdf",
    ):
        read_document(_scan(tmp_path / "scan.pdf", 3))
    found = read_document(_scan(tmp_path / "partly.pdf", 3, typed=(2,)))
    assert found.warnings == (
        "2 of 3 pages have no text, or hardly any (1, 3): perhaps pictures.",
    )
    with pytest.raises(
        DataError, match=r"a\.pdf: protected by a password\. Take it off"
    ):
        read_document(locked(tmp_path / "a.pdf", "secret"))
    assert (
        read_document(locked(tmp_path / "b.pdf", "")).text == "The appeal is dismissed."
    )


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
        ("none.pdf", None, "cannot be read"),
        ("folder.pdf", None, "a folder"),
    ],
)
def test_what_cannot_be_read_is_named(
    name: str, content: bytes | None, said: str
) -> None:
    Path("folder.pdf").mkdir()
    if content is not None:
        Path(name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_document(name)


@pytest.mark.parametrize(
    ("bound", "most", "said"),
    [
        ("PAGES", 4, r"opinion\.pdf: 5 pages; at most 4 pages .*Cut it"),
        ("LETTERS", 100, "100 letters are read"),
        ("LARGEST", 100, "larger than 100 bytes"),
    ],
)
def test_what_is_too_large_is_named(
    opinion: Path, monkeypatch: Patch, bound: str, most: int, said: str
) -> None:
    monkeypatch.setattr(document, bound, most)
    with pytest.raises(DataError, match=said):
        read_document(opinion)


def test_a_damaged_pdf_is_read_or_named_and_nothing_else(
    opinion: Path, tmp_path: Path
) -> None:
    whole, rng = opinion.read_bytes(), random.Random(7)
    damaged = tmp_path / "damaged.pdf"
    refused = 0
    for _ in range(60):
        raw = bytearray(
            whole[: rng.randrange(len(whole))] if rng.random() < 0.3 else whole
        )
        for _ in range(rng.randrange(1, 30)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        damaged.write_bytes(raw)
        try:
            assert read_document(damaged).text
        except DataError as error:
            refused += 1
            assert "damaged.pdf" in str(error)
    assert 0 < refused < 60


def test_text_is_joined_where_its_lines_are_wrapped_and_left_where_they_are_paragraphs() -> (
    None
):
    for name, text in (
        ("long.txt", f"{LONG}\n{LONG}"),
        ("a.md", "# Opinion\n\n- first\n- second"),
    ):
        Path(name).write_text(f"{text}\n")
        assert read_document(name).text == text
    first = ["RUNNING HEAD", *body(1, 6), "The order was set a-", "", "1"]
    second = ["RUNNING HEAD", "side, with costs.", "", "It is so ordered.", "2", ""]
    Path("cut.txt").write_text("\n".join(first) + "\n\f" + "\n".join(second))
    found = read_document("cut.txt")
    assert found.pages == 2
    assert "was set aside, with costs." in found.text and found.text.endswith(
        "\n\nIt is so ordered."
    )


def _counted(text: str) -> Counter[str]:
    """Words, those that a line end divides joined."""
    return Counter(
        re.findall(r"\w+", re.sub(r"(\w) ?[-\u00ad] *\n\s*(\w)", r"\1\2", text.lower()))
    )


@pytest.mark.parametrize("name", ["19-encino", "3-brown"])
def test_the_words_of_a_stored_extraction_are_found_again(name: str) -> None:
    stored = _counted(
        reference(f"faith/pdf/{name}.extracted.txt").read_text(encoding="utf-8")
    )
    found = read_document(reference(f"faith/pdf/{name}.pdf"))
    said = _counted("\n".join([found.text, *(each.text for each in found.removed)]))
    assert sum((stored & said).values()) / sum(stored.values()) >= 0.995
    inside = _counted(found.text)
    # nothing but headers has gone
    assert len(stored.keys() & inside.keys()) / len(stored) >= 0.99
    assert len(found.notes) >= 7 and len(found.removed) >= found.pages


@pytest.fixture
def short(tmp_path: Path) -> Path:
    return printed(tmp_path / "opinion.pdf", *map(body, (1, 2, 3)), header=HEADER)


def extracted(item: Item) -> Items | Failure:
    (record,) = asyncio.run(ExtractStep().process(item))
    assert not record.calls
    return record.outcome


def test_the_document_becomes_the_text_an_item_with_text_stays_and_one_with_neither_is_named(
    short: Path,
) -> None:
    sha256 = hashlib.sha256(short.read_bytes()).hexdigest()
    told = {"document_sha256": sha256, "year": 2020}
    found = extracted(
        Item(
            id="a",
            inputs={"document": str(short), "reference": "It held."},
            metadata=told,
        )
    )
    assert isinstance(found, Items)
    (item,) = found.items
    assert (item.id, item.parent, item.maker) == ("a", "a", "extract")
    assert list(item.inputs) == ["opinion", "reference"]
    assert item.inputs["opinion"].startswith("On day 20")
    assert item.metadata == told | {
        "pages": 3,
        "words": len(item.inputs["opinion"].split()),
    }
    found = extracted(
        Item(id="a", inputs={"opinion": "It is so ordered.", "reference": "It held."})
    )
    assert isinstance(found, Items)
    assert found.items[0].inputs == {
        "opinion": "It is so ordered.",
        "reference": "It held.",
    }
    with pytest.raises(
        DataError,
        match=r"item 'a' has neither an input `document` nor `opinion` \(it has: text\)",
    ):
        extracted(Item(id="a", text="t"))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("opinion.pdf", "another file than expected"),
        ("closed.pdf", "protected by a password"),
        ("nowhere.pdf", "nowhere"),
    ],
)
def test_what_cannot_be_read_is_a_failure_with_its_reason(
    short: Path, path: str, said: str
) -> None:
    locked(short.with_name("closed.pdf"), "secret")
    item = Item(
        id="a",
        inputs={"document": str(short.with_name(path))},
        metadata={"document_sha256": "0" * 64},
    )
    outcome = extracted(item)
    assert (
        isinstance(outcome, Failure)
        and outcome.reason == "unparseable"
        and said in outcome.message
    )


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_command_writes_texts_and_a_table_and_goes_on_past_what_fails(
    short: Path, capsys: Capture
) -> None:
    notes, texts = short.with_name("notes.md"), short.with_name("texts")
    notes.write_text("# Notes\n")
    main(["extract", str(short), str(notes), "--to", str(texts)])
    written = read(texts / "opinion.txt")
    assert written.startswith("On day 20")
    assert read(texts / "notes.txt") == "# Notes\n"
    row = next(
        line
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("opinion.pdf")
    )
    assert row.split()[:5] == ["opinion.pdf", "3", str(len(written.split())), "6", "0"]
    main(["extract", str(short)])
    assert read(short.with_suffix(".txt")) == written
    status, out, err = refused(capsys, short.with_name("none.pdf"), short)
    assert status == 1
    assert "none.pdf" in out and "not written" in out
    assert "error: " in err and "1 of 2 files gave no text." in err
    assert short.with_suffix(".txt").exists()


def refused(capsys: Capture, *arguments: Path | str) -> tuple[object, str, str]:
    """The status with which the command ends, and what it prints on both streams."""
    with pytest.raises(SystemExit) as ended:
        main(["extract", *map(str, arguments)])
    return (ended.value.code, *capsys.readouterr())


def test_the_command_overwrites_nothing_unasked(short: Path, capsys: Capture) -> None:
    text = short.with_suffix(".txt")
    text.write_text("my own notes\n")
    assert (
        "opinion.txt is there already, with another text" in refused(capsys, short)[2]
    )
    assert read(text) == "my own notes\n"
    main(["extract", str(short), "--overwrite"])
    main(["extract", str(short)])  # the same text again is no conflict
    main(["extract", str(text)])
    assert text.with_name("opinion.extracted.txt").exists()
    other = locked(short.parent / "b" / "opinion.pdf", "")
    status, _, err = refused(capsys, short, other, "--to", short.with_name("texts"))
    assert status == 2 and "would both become" in err
