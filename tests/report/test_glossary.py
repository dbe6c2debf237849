"""The terms of reports: one source for what pages explain and docs/glossary.md, and no English in
Portuguese."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examinations.conftest import SHIPPED
from undogmatic.records.wordings import REPORT_TEXTS, read
from undogmatic.records.words import Words, glossary
from undogmatic.report.document import Document, Heading, Paragraph, defined, rendered

ROOT = Path(__file__).resolve().parents[2]
ENGLISH = frozenset(
    "the of and is are was were not with from have has had which this these those there their they"
    " than but or if on its it whether does did an to into nor about between each every both only"
    " where when would could should may might less most then".split()
)
"""Function words of English that are no words of Portuguese."""


@pytest.mark.parametrize(
    ("language", "name"), [("en", "glossary.md"), ("pt", "glossary.pt.md")]
)
def test_the_glossary_of_the_docs_says_what_reports_say(
    language: str, name: str
) -> None:
    words = Words(language)
    told = [
        f"# {words.text('common.glossary_title')}",
        words.text("common.glossary_intro"),
    ]
    told += [f"**{term}**: {meaning}" for term, meaning in glossary(language).items()]
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == "\n\n".join(
        told
    ) + "\n"


def test_a_term_shows_its_meaning_and_no_other_markup_changes() -> None:
    terms = {"AUC": 'how "often"', "interval": "a range"}
    shown = defined(
        '<a href="#AUC">AUC</a> AUC, auc; <code>interval</code> intervals Interval',
        terms,
    )
    assert (
        shown
        == '<a href="#AUC">AUC</a> <abbr tabindex="0" title="how &quot;often&quot;">AUC</abbr>,'
        " auc; "
        '<code>interval</code> intervals <abbr tabindex="0" title="a range">Interval</abbr>'
    )
    page = rendered(
        Document("pt", "t", "l", [Heading("AUC"), Paragraph("A AUC <b>")]),
        "report.html",
    )
    assert (
        "A <abbr" in page and "&lt;b&gt;" in page and '<h2 id="part-1">AUC</h2>' in page
    )


def portuguese() -> Iterator[str]:
    """Every wording in Portuguese, without what stands in code, names of values and what is
    typed."""
    own = read(REPORT_TEXTS / "pt.yaml")
    nodes: list[object] = [own, *(read(path).get("pt", {}) for path in SHIPPED)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, str):
            yield re.sub(r"`[^`]*`|\{\w*:?|\S*[=/_.]\w\S*", " ", node)
        elif isinstance(node, dict):
            nodes.extend(node.values())


def test_no_english_in_portuguese() -> None:
    wordings = list(portuguese())
    assert len(wordings) > 1000
    assert [
        text
        for text in wordings
        if ENGLISH & {*re.findall(r"[^\W\d_]+", text.casefold())}
    ] == []
