"""What a judge may be used for, what not, and what is not known of it: in three sentences, the same
wherever they stand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undogmatic
from benchmarks.check import made_table
from tests.examinations.builders import evidence_of
from undogmatic.examinations.check import check
from undogmatic.examinations.ruling.check import CHECK
from undogmatic.records.card import read_card, sealed
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import Evidence
from undogmatic.records.results import Weight
from undogmatic.report import card
from undogmatic.report.check import as_json, face, uses_of, words_of
from undogmatic.safety.paths import data_folder

EN, PT = words_of("en"), words_of("pt")
NOTHING = {EN.text("uses.for_nothing_yet"), EN.text("uses.for_nothing")}


def good(kind: Any) -> Evidence:
    """A judge that reads, with two people who do, of a kind of verdict."""
    rng, made = np.random.default_rng(5), made_table("good", 160, 0.0, 5)
    worth = made.labels.groupby("item", sort=False)["label"].first().to_numpy()
    steps = np.where(
        worth > 0, rng.integers(2, 4, worth.size), rng.integers(0, 2, worth.size)
    )
    said, label = (
        np.where(rng.random(worth.size) < 0.1, 3 - steps, steps) for _ in range(2)
    )
    if kind == "numeric":
        said, label = (steps + 0.2 * rng.normal(size=steps.size) for _ in range(2))
    return evidence_of(kind, said, label, {"text": made.items["text"].tolist()})


@pytest.mark.parametrize(
    ("kind", "rates"),
    [
        ("ordered", ("raw", "adjacent")),
        ("unordered", ("raw",)),
        ("numeric", ("error",)),
    ],
)
def test_a_judge_that_may_be_believed_is_told_in_rates(
    kind: Any, rates: tuple[str, ...]
) -> None:
    result = check(good(kind), CheckOptions())
    told = result.judges[0]
    assert told.standing == "supported"
    said = uses_of(result, told, EN).use_for
    for name in rates:
        estimate = told.estimates[f"agreement.{name}"]
        spec = ".2g" if name == "error" else ".0%"
        assert EN.number(estimate.value, spec) in said
        assert EN.number(estimate.interval, spec) in said


def test_of_pass_and_fail_both_rates_stand_first_and_what_it_may_decide_alone_second() -> (
    None
):
    result = check(made_table("good", 160, 0.0, 2), CheckOptions())
    told = result.judges[0]
    assert told.standing == "supported"
    lines = face(result, EN)
    assert len(lines) <= 7
    for name in ("specificity", "sensitivity"):
        assert EN.number(told.estimates[f"agreement.{name}"].value, ".0%") in lines[0]
    assert not told.estimates["alone.share"].value
    assert "acting without a person" in lines[1]
    assert len(face(result, PT)) == len(lines)


@pytest.mark.parametrize("name", ["constant", "coin", "length", "regex_8", "good"])
def test_only_a_judge_that_may_be_believed_has_a_use(name: str) -> None:
    result = check(made_table(name, 100, 0.0, 3), CheckOptions())
    told = result.judges[0]
    has_use = uses_of(result, told, EN).use_for not in NOTHING
    assert has_use == (told.standing == "supported") == (name == "good")


def test_whatever_decides_an_open_answer_is_said_to_be_unknown_and_what_refutes_no_use() -> (
    None
):
    for rule in CHECK.rules:
        part = {"refuted": "not_for", "supported": None}.get(
            str(rule.leaves), "not_known"
        )
        for words in (EN, PT):
            if part is not None:
                assert words.find(f"check.{part}.{rule.key}"), rule.key


def test_a_limit_that_has_no_phrase_is_said_whole() -> None:
    result = check(made_table("good", 160, 0.0, 2), CheckOptions())
    told = result.judges[0]
    apart = {"apart": 0.2, "interval": [0.1, 0.3], "level": 0.95, "n": 9, "raters": 3}
    told.say("people.lower", apart, weight=Weight.LIMITS, rater="ana")
    assert "ana gives lower labels" in uses_of(result, told, EN).not_for


def test_json_card_and_python_say_the_same(tmp_path: Path) -> None:
    result = check(made_table("good", 160, 0.0, 2), CheckOptions())
    said = uses_of(result, result.judges[0], EN)._asdict()
    (told,) = as_json(result, EN)["judges"]
    assert {name: told[name] for name in said} == said
    (made,) = card.cards_of(result, EN, {}).values()
    assert {name: getattr(made, name) for name in said} == said
    for ending in ("md", "html", "svg"):
        (path,) = card.write({"": made}, tmp_path / f"card.{ending}")
        shown = path.read_text("utf-8")
        assert "Not for: acting without a person" in shown


def test_a_card_that_was_made_before_is_read_and_shown() -> None:
    result = check(made_table("good", 160, 0.0, 2), CheckOptions())
    (made,) = card.cards_of(result, EN, {}).values()
    gone = ("use_for", "not_for", "not_known", "seal")
    old = sealed(**{name: own for name, own in made if name not in gone})
    assert "use_for" not in json.loads(old.text())
    Path("old.json").write_text(old.text(), encoding="utf-8")
    read = read_card(Path("old.json"))
    assert read.use_for is None and "Use it for" not in card.svg(read)
    assert card.document(read).blocks


def test_several_judges_have_their_uses_by_name() -> None:
    frame = undogmatic.check(data_folder() / "check" / "demo.csv")
    assert isinstance(frame.use_for, dict) and isinstance(frame.not_known, dict)
    assert frame.use_for["judge_generous"] == EN.text("uses.for_nothing")
    assert frame.use_for["judge_careful"].startswith("sorting items")


def test_a_judge_equal_to_its_labels_may_decide_nothing_alone_and_many_are_no_answer() -> (
    None
):
    table = made_table("good", 160, 0.0, 2)
    truth = table.labels.groupby("item", sort=False)["label"].first()
    for n, standing in ((90, "supported"), (160, "undecided")):
        said = truth.to_numpy()[:n]
        texts = table.items["text"].reindex(truth.index[:n]).tolist()
        result = check(
            evidence_of("pass_fail", said, said, {"text": texts}), CheckOptions()
        )
        told = result.judges[0]
        assert told.standing == standing
        assert "without a person" not in uses_of(result, told, EN).use_for
        if standing == "supported":
            assert told.estimates["alone.share"].value == 1
