"""Makes what is made here: every case's `opinion.pdf` from its `opinion.md`, and `summaries.jsonl`
from each case's `summaries.yaml`. Run `python data/faith/make.py` after a change; the same sources
give the same bytes.

A page of a PDF has what makes extraction hard in real ones: a running header, which differs on left
and right pages, a footer with the page's number, words hyphenated at line ends, a footnote below a
rule with its mark raised in the text, and paragraphs that go on overleaf.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyphen
import yaml
from fpdf import FPDF
from fpdf.enums import MethodReturnValue

HERE = Path(__file__).resolve().parent
WIDTH, LEFT, TOP, BOTTOM = 126.0, 42.0, 34.0, 258.0
"""Of the text on a page of 210 x 297 mm."""
BODY, SMALL = 11.5, 9.0
"""Points."""
MARK = re.compile(r"\[\^(\d+)\]")
SOFT_HYPHEN = "\u00ad"
PAGES = {"en": "Page {n}", "pt": "Página {n}"}


class Line(NamedTuple):
    """A line of the page: what it says, how it is set, the space above it and the notes it refers
    to."""

    text: str
    style: str = ""
    size: float = BODY
    centred: bool = False
    above: float = 0.0
    notes: tuple[str, ...] = ()


@cache
def _hyphenation(language: str) -> pyphen.Pyphen:
    return pyphen.Pyphen(lang={"en": "en_US", "pt": "pt_BR"}[language], left=3, right=3)


def _hyphenated(text: str, language: str) -> str:
    """The text with soft hyphens in words of at least seven letters."""
    return re.sub(
        r"[^\W\d_]{7,}",
        lambda word: _hyphenation(language).inserted(word[0], SOFT_HYPHEN),
        text,
    )


def _broken(pdf: FPDF, text: str, size: float, style: str = "") -> list[str]:
    """The text in lines of the page's width. Marks of notes are narrower on the page than here."""
    pdf.set_font("Times", style, size)
    found = pdf.multi_cell(
        WIDTH, size / 2, text, dry_run=True, output=MethodReturnValue.LINES, padding=0
    )
    return [line.rstrip() for line in found]


def _lines(pdf: FPDF, paragraphs: list[str], language: str) -> Iterator[Line]:
    for paragraph in paragraphs:
        level = len(paragraph) - len(paragraph.lstrip("#"))
        text = paragraph.lstrip("# ")
        size, style = {0: (BODY, ""), 1: (14.0, "B"), 2: (BODY, "B")}[level]
        whole = text if level else _hyphenated(text, language)
        for n, line in enumerate(_broken(pdf, whole, size, style)):
            above = 0.0 if n else 5.0 if level else 2.0
            yield Line(line, style, size, level > 0, above, tuple(MARK.findall(line)))


class Opinion(FPDF):
    """A document with a running header and a footer, whose lines are placed one by one."""

    def __init__(self, title: str, docket: str, language: str) -> None:
        super().__init__()
        self.title, self.docket, self.language = title, docket, language
        self.core_fonts_encoding = "windows-1252"
        self.set_compression(
            False
        )  # bytes that do not hang on the version of a compressor
        self.set_auto_page_break(False)
        self.set_creation_date(datetime(2026, 11, 1, tzinfo=UTC))
        self.set_title(title)
        self.set_lang(language)
        self.set_margins(LEFT, TOP)

    def header(self) -> None:
        """The parties on right pages, the docket number on left ones."""
        self.set_font("Times", "I", SMALL)
        self.set_xy(LEFT, 20)
        odd = self.page_no() % 2 == 1
        self.cell(
            WIDTH,
            5,
            self.title.upper() if odd else self.docket,
            align="R" if odd else "L",
        )

    def footer(self) -> None:
        """The page's number."""
        self.set_font("Times", "", SMALL)
        self.set_xy(LEFT, 275)
        self.cell(WIDTH, 5, PAGES[self.language].format(n=self.page_no()), align="C")

    def put(self, line: Line, y: float) -> None:
        """Set a line at a height, marks of notes raised and small."""
        x = LEFT
        self.set_font("Times", line.style, line.size)
        if line.centred:
            x += (WIDTH - self.get_string_width(line.text)) / 2
        for n, part in enumerate(MARK.split(line.text)):
            self.set_font("Times", line.style, line.size * (0.65 if n % 2 else 1))
            self.text(x, y - (1.4 if n % 2 else 0), part)
            x += self.get_string_width(part)


def opinion_pdf(source: str, docket: str, language: str) -> bytes:
    """The PDF of an opinion.

    Args:
        source: Markdown: paragraphs parted by blank lines, `#` and `##` before headings, notes
            `[^1]` and `[^1]: text`.
        docket: What the header of left pages says.
        language: "en" or "pt", for hyphenation and the footer.
    """
    blocks = [" ".join(block.split()) for block in source.strip().split("\n\n")]
    notes = {
        m[1]: block[m.end() :]
        for block in blocks
        if (m := re.match(r"\[\^(\d+)\]: ", block))
    }
    paragraphs = [block for block in blocks if not re.match(r"\[\^\d+\]: ", block)]
    pdf = Opinion(paragraphs[0].lstrip("# "), docket, language)
    pdf.add_page()
    below: list[Line] = []
    y = TOP
    lines = list(_lines(pdf, paragraphs, language))
    for n, line in enumerate(lines):
        own = [
            Line(each, "", SMALL, above=2.0 if k == 0 else 0.0)
            for note in line.notes
            for k, each in enumerate(
                _broken(pdf, f"[^{note}] {_hyphenated(notes[note], language)}", SMALL)
            )
        ]
        ahead = (
            3 if line.centred and n + 1 < len(lines) else 1
        )  # a heading does not stand alone at the end of a page
        if y + line.above + ahead * _height(line) > BOTTOM - sum(
            map(_height, below + own)
        ):
            _finish(pdf, below)
            below, y = [], TOP
            pdf.add_page()
        below += own
        y += (line.above if y > TOP else 0.0) + _height(line)
        pdf.put(line, y)
    _finish(pdf, below)
    return bytes(pdf.output())


def _height(line: Line) -> float:
    return line.size * 0.46 + (line.above if line.size == SMALL else 0.0)


def _finish(pdf: Opinion, below: list[Line]) -> None:
    """The notes at the foot of the page, under a rule."""
    if not below:
        return
    y = BOTTOM - sum(map(_height, below)) + 4.0
    pdf.line(LEFT, y, LEFT + 30, y)
    for line in below:
        y += _height(line)
        pdf.put(line, y)


def summary_rows(
    case: str, source: dict[str, Any], filler: list[str]
) -> Iterator[dict[str, Any]]:
    """The faithful summary of a case, one copy of it for each planted error, and one with filler.

    Args:
        case: Its name.
        source: `perfect`, paragraphs of sentences; `planted`, by kind where (sentences are counted
            from 1) and what.
        filler: Sentences that say nothing, in the case's language.
    """
    paragraphs: list[list[str]] = source["perfect"]
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph]
    yield _row(case, "perfect", [], _joined(paragraphs, {}), [], [], None)
    for kind, planted in source["planted"].items():
        said, removed = planted.get("sentence"), planted.get("remove", [])
        if "replace" in planted:
            removed, change = [planted["replace"]], {planted["replace"]: [said]}
        elif "after" in planted:
            change = {planted["after"]: [sentences[planted["after"] - 1], said]}
        else:
            change = {n: [] for n in removed}
        gone = [sentences[n - 1] for n in removed]
        yield _row(
            case,
            kind,
            [kind],
            _joined(paragraphs, change),
            [said] if said else [],
            gone,
            planted["truth"],
        )
    change = {n: [s, filler[(n - 1) % len(filler)]] for n, s in enumerate(sentences, 1)}
    added = [pair[1] for pair in change.values()]
    yield _row(
        case,
        "verbose_filler",
        ["verbose_filler"],
        _joined(paragraphs, change),
        added,
        [],
        None,
    )


def _joined(paragraphs: list[list[str]], change: dict[int, list[str]]) -> str:
    """The text, with the sentences of these numbers, counted from 1, replaced."""
    n, found = 0, []
    for paragraph in paragraphs:
        kept: list[str] = []
        for sentence in paragraph:
            n += 1
            kept += change.get(n, [sentence])
        found.append(" ".join(kept))
    return "\n\n".join(part for part in found if part)


BUCKETS = {
    "reversed_outcome": ("factual_accuracy", 2),
    "wrong_holding": ("factual_accuracy", 2),
    "wrong_vote": ("factual_accuracy", 3),
    "fabricated_citation": ("factual_accuracy", 3),
    "invented_detail": ("factual_accuracy", 3),
    "wrong_date": ("factual_accuracy", 4),
    "hedging": ("factual_accuracy", 4),
    "omitted_dissent": ("completeness", 3),
    "omitted_concurrence": ("completeness", 4),
    "omitted_facts": ("completeness", 4),
    "verbose_filler": ("completeness", 5),
}
"""The bucket that the table of severities of `judge=bucket` gives to what is planted, which is all
that is wrong with a summary: its label by construction, and no person's."""


def _labels(planted: list[str]) -> dict[str, float]:
    """The buckets of a summary, on the rubric's scale of 0 to 1."""
    labels = {"factual_accuracy": 5, "completeness": 5}
    for kind in planted:
        criterion, bucket = BUCKETS[kind]
        labels[criterion] = min(bucket, labels[criterion])
    return {criterion: bucket / 5 for criterion, bucket in labels.items()}


def _row(
    case: str,
    variant: str,
    planted: list[str],
    text: str,
    added: list[str],
    removed: list[str],
    truth: str | None,
) -> dict[str, Any]:
    return {
        "case": case,
        "system": variant,
        "variant": variant,
        "planted": planted,
        "text": text,
        "added": added,
        "removed": removed,
        "truth": truth,
        "labels": _labels(planted),
    }


def made(folder: Path = HERE) -> dict[str, bytes]:
    """All files that are made, by their path in the folder."""
    cases = [
        json.loads(line)
        for line in (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    filler = yaml.safe_load((folder / "filler.yaml").read_text(encoding="utf-8"))
    found, rows = {}, []
    for case in cases:
        own = folder / case["case"]
        text = (own / "opinion.md").read_text(encoding="utf-8")
        found[case["pdf"]] = opinion_pdf(text, text.split("\n\n")[2], case["language"])
        source = yaml.safe_load((own / "summaries.yaml").read_text(encoding="utf-8"))
        own_filler = next(each for each in filler if case["case"] in each["cases"])
        rows += summary_rows(case["case"], source, own_filler[case["language"]])
    found["summaries.jsonl"] = "".join(
        json.dumps(row, ensure_ascii=False) + "\n" for row in rows
    ).encode()
    return found


if __name__ == "__main__":
    for name, content in made().items():
        (HERE / name).write_bytes(content)
        print(f"{name}: {len(content):,} bytes")
