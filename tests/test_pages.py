"""What README.md and docs/check.md quote is what the commands print and the stored results say."""

import pytest

from benchmarks import pages

BLOCKS = [(page, name) for page in pages.PAGES for name in pages.stored_blocks(page)]
RUNS_THE_MODEL = {"main_job"}


def test_every_block_that_is_made_stands_on_a_page_once() -> None:
    assert sorted(name for _, name in BLOCKS) == sorted(pages.BLOCKS)


@pytest.mark.parametrize(
    ("page", "name"),
    [
        pytest.param(
            page,
            name,
            marks=[pytest.mark.local_model] if name in RUNS_THE_MODEL else [],
            id=name,
        )
        for page, name in BLOCKS
    ],
)
def test_a_page_says_what_is_made_now(page: "pages.Path", name: str) -> None:
    quoted = pages.stored_blocks(page)[name]
    said = "python -m benchmarks.pages --write makes it anew"
    assert pages.masked(pages.BLOCKS[name]()) == pages.masked(quoted), said


def test_a_changed_figure_is_seen_and_another_date_is_not() -> None:
    line = "Report outputs/2026-01-02/03-04-05/report.html, 85% [75%, 92%]"
    assert pages.masked(line) == pages.masked(
        line.replace("2026-01-02/03-04-05", "2027-11-12/13-14-15")
    )
    assert pages.masked(line) != pages.masked(line.replace("85%", "86%"))
