"""The report as a PDF: two pages that say most, and the whole of it with every column."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.browser import CHROMIUM, browsing
from tests.report.conftest import Build, verdict
from undogmatic.cli.report import _print
from undogmatic.records.records import Item
from undogmatic.report import contents
from undogmatic.report.document import rendered
from undogmatic.runs.outcome import FinishedRun

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium (package chromium)"
)
PAGE = 680
"""CSS pixels between the margins of an A4 page."""


def long_texts(finished: Build) -> FinishedRun:
    """A run over 40 texts of 150 words, with labels and conditions."""
    text = "a sentence of some words that goes on " * 19
    outcomes = [
        (
            Item(id=f"item-{k:03}", text=text, label=k, condition="a condition"),
            verdict(50.0),
        )
        for k in range(40)
    ]
    return finished(outcomes, [])


@pytest.mark.parametrize("language", ["en", "pt"])
def test_the_short_report_has_two_pages_of_a4(
    language: str, finished: Build, tmp_path: Path
) -> None:
    run = replace(long_texts(finished), language=language)
    page, made = tmp_path / "page.html", tmp_path / "page.pdf"
    page.write_text(rendered(contents.short(run), "report.html"), encoding="utf-8")
    _print(str(CHROMIUM), page, made)
    told = made.read_bytes()
    assert 1 <= len(re.findall(rb"/Type /Page\b", told)) <= 2
    assert {b"594.95996 841.91998"} == set(
        re.findall(rb"/MediaBox \[0 0 ([\d. ]+)\]", told)
    )


def test_the_whole_report_gives_every_column_its_place_and_most_of_a_line_to_the_text(
    finished: Build,
) -> None:
    run = long_texts(finished)
    contents.write(run)

    async def measured() -> tuple[float, float, int]:
        async with browsing((run.folder / "report.html").resolve().as_uri()) as browser:
            await browser.until("document.querySelectorAll('.window .row').length > 5")
            await browser.size(PAGE)
            await browser.call("Emulation.setEmulatedMedia", media="print")
            await browser.js("dispatchEvent(new Event('beforeprint')); 0")
            cells = "[...document.querySelectorAll('.printed th, .printed td')]"
            right = (
                f"Math.max(...{cells}.map(cell => cell.getBoundingClientRect().right))"
            )
            text = "document.querySelector('.printed td:nth-child(2)').offsetWidth"
            rows = "document.querySelectorAll('.printed tbody tr').length"
            return (
                await browser.js(right),
                await browser.js(text),
                await browser.js(rows),
            )

    right, text, rows = asyncio.run(measured())
    assert rows == 40
    assert right <= PAGE
    assert text > PAGE / 3
