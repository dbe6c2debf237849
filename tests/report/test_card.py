"""The trust card: one source, four forms, bound to digests and sealed."""

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.report import checks
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.card import read_card, setting, table_digests
from undogmatic.report import card
from undogmatic.report.document import rendered

TODAY = datetime.date(2026, 11, 25)


def made(standing: Any = "supported", **options: Any) -> Any:
    known = {
        "judge": {
            "model": " gpt-5 ",
            "prompt": "Judge this.\n" * 40,
            "temperature": "0.0",
        }
    }
    verdicts = checks.table(settings=known)
    found = checks.result(checks.judge_check(standing=standing), verdicts=verdicts)
    (own,) = card.cards_of(
        found, checks.words(), {"judge": ["judge"]}, today=TODAY, **options
    ).values()
    return own


def test_the_card_says_what_the_check_said_and_until_when() -> None:
    own = made(use="Triage of drafts", days=30)
    assert (own.use, own.expires) == ("Triage of drafts", datetime.date(2026, 12, 25))
    assert own.limits == ("It is worse on <b>long</b>.",) and own.not_examined == (
        "the ceiling: only 1 person.",
    )
    assert own.figures["agreement.kappa"].interval == (0.61, 0.9)
    assert own.settings["model"] == "gpt-5" and own.settings["temperature"] == "0"
    assert own.settings["prompt"].startswith("sha256:")
    assert (own.data.raters, own.data.labels, own.data.files) == (
        2,
        120,
        {"verdicts.csv": "ab" * 32},
    )


def test_a_judge_that_is_not_supported_has_no_use() -> None:
    assert made("undecided", use="Triage").use == "Not shown to be fit for: Triage"
    assert made("refuted").use.startswith("None is shown")


@pytest.mark.parametrize("days", [0, -1, 4000])
def test_a_card_is_for_a_time(days: int) -> None:
    with pytest.raises(ConfigError, match="--expires"):
        made(days=days)


def test_all_forms_say_the_same(tmp_path: Path) -> None:
    own = made()
    paths = [
        card.write({"": own}, tmp_path / f"card{suffix}")[0]
        for suffix in card.RENDERINGS
    ]
    assert read_card(paths[0]) == own
    texts = [path.read_text("utf-8") for path in paths]
    for text in texts[:3]:
        assert own.answer in text and own.digests.labels in text and "ab" * 32 in text
    assert "&lt;b&gt;long" in texts[1] and "&lt;b&gt;long" in texts[2]
    markdown, page = (
        text
        for path, text in zip(paths, texts, strict=True)
        if path.suffix in (".md", ".html")
    )
    assert "`undogmatic gate card.json`" in markdown and "\\`" not in markdown
    assert "<code>undogmatic gate card.json</code>" in page
    drawn = ElementTree.fromstring(texts[3])
    said = " ".join(
        node.text or "" for node in drawn.iter("{http://www.w3.org/2000/svg}text")
    )
    assert (
        "may be trusted" in said and "[0.61, 0.90]" in said and str(own.expires) in said
    )


@pytest.mark.parametrize(
    ("answer", "word"), [(None, "Yes"), ("Not yet. It may be so.", "Not yet")]
)
def test_a_card_opens_with_the_answer_as_every_report(
    answer: str | None, word: str
) -> None:
    own = made()
    own = own if answer is None else own.model_copy(update={"answer": answer})
    page, text = (
        rendered(card.document(own), f"report.{kind}") for kind in ("html", "md")
    )
    assert (
        page.index('<div class="answer') < page.index("<table")
        and f"</span> {word}</p>" in page
    )
    assert f"{word}.** {own.answer.removeprefix('Not yet. ')}" in text


def test_a_card_bound_to_a_name_only_says_so() -> None:
    (own,) = card.cards_of(checks.result(), checks.words(), {}, today=TODAY).values()
    assert "bound to the judge's name only" in rendered(card.document(own), "report.md")


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (
            lambda told: told["figures"]["agreement.kappa"]["interval"].__setitem__(
                0, 0.8
            ),
            "edited or damaged",
        ),
        (lambda told: told.update(expires="2030-01-01"), "edited or damaged"),
        (lambda told: told.update(standing="believed"), "standing"),
        (lambda told: told.pop("seal"), "seal"),
        (lambda told: told.update(more=1), "more"),
    ],
)
def test_an_edited_card_is_broken(edit: Any, named: str, tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    card.write({"": made()}, path)
    told = json.loads(path.read_text("utf-8"))
    edit(told)
    path.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(DataError, match=rf"card\.json: .*{named}"):
        read_card(path)


def test_a_card_may_be_written_anew_without_losing_its_seal(tmp_path: Path) -> None:
    """Another order of keys and another layout are no edit."""
    told = json.loads(made().text())
    path = tmp_path / "card.json"
    path.write_text(json.dumps(dict(reversed(told.items()))), encoding="utf-8")
    assert read_card(path) == made()


def test_the_digests_know_the_content_and_not_the_order() -> None:
    table = checks.table(settings={"judge": {"model": "a", "temperature": "0.0"}})
    before = table_digests(table, "judge", "quality")
    labels, items = (
        table.labels.sample(frac=1, random_state=0),
        table.items.sample(frac=1, random_state=1),
    )
    turned = replace(table, labels=labels[labels.columns[::-1]], items=items)
    assert table_digests(turned, "judge", "quality") == before
    other = table.items.assign(
        text=table.items["text"].str.replace("number 7", "number seven")
    )
    assert (
        table_digests(replace(table, items=other), "judge", "quality").items
        != before.items
    )
    changed = table.labels.assign(
        label=table.labels["label"].where(table.labels.index != 3, 0.5)
    )
    assert (
        table_digests(replace(table, labels=changed), "judge", "quality").labels
        != before.labels
    )
    same = replace(table, settings={"judge": {"temperature": "0", "model": " a"}})
    assert table_digests(same, "judge", "quality") == before
    another = replace(table, settings={"judge": {"model": "b", "temperature": "0"}})
    assert table_digests(another, "judge", "quality").judge != before.judge


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (True, "true"),
        (0, "0"),
        ("1e-3", "0.001"),
        (" gpt-5\n", "gpt-5"),
        ("1_000", "1_000"),
        ("nan", "nan"),
    ],
)
def test_a_setting_has_one_form(typed: Any, kept: str) -> None:
    assert setting(typed) == kept


def test_several_judges_get_a_file_each(tmp_path: Path) -> None:
    answers = [checks.judge_check(name) for name in ("judge", "judge1")]
    cards = card.cards_of(checks.result(*answers), checks.words(), {}, today=TODAY)
    assert [path.name for path in card.write(cards, tmp_path / "c.json")] == [
        "c-judge.json",
        "c-judge1.json",
    ]


@pytest.mark.parametrize("path", ["card", "card.pdf", ".json"])
def test_the_form_is_told_by_the_name(path: str) -> None:
    with pytest.raises(ConfigError, match=r"\.json, \.md, \.html, \.svg"):
        card.checked_path(path)
