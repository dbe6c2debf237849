"""bucket_rules on the shipped summaries: what is invented or hedged is quoted, classed and costs, the rest not."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import pytest

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from undogmatic.api import judge_items
from undogmatic.datasets.cases import CasesDataset
from undogmatic.datasets.quotes import Rules, quotes
from undogmatic.records import Item, Judgment, Verdict

NEW = ("fabricated_citation", "invented_detail", "hedging")
UNTOLD = {
    "verbose_filler": "says nothing wrong",
    "wrong_holding": "a holding turned round in other words has no value, name or citation that rules could compare",
}
"""What ties with the faithful summary, and why."""
PARTLY = {
    "invented_detail": "one without a name, number or date is only guessed at, and costs nothing",
    "omitted_facts": "in two Portuguese cases what is left out resembles what is said, so that it counts as covered",
    "omitted_concurrence": "in one Portuguese case, for the same reason",
}
"""What ties in some cases, but not in the mean."""
WEIGHTS = {"nli": 0.35, "factual_accuracy": 0.2, "completeness": 0.2, "coverage": 0.25}


@functools.cache
def items(split: str) -> tuple[Item, ...]:
    return tuple(CasesDataset(split=split, summaries="shipped").load())


@functools.cache
def judged(split: str) -> Mapping[str, Mapping[str, Judgment]]:
    found: dict[str, dict[str, Judgment]] = {}
    for judge in ("nli", "coverage", "bucket_rules"):
        for one in judge_items(items(split), ["rubric=faithfulness", f"judge={judge}"]):
            found.setdefault(one.item_id, {})[one.criterion] = one
    return found


def errors(judgment: Judgment) -> list[dict[str, Any]]:
    assert isinstance(judgment.outcome, Verdict), judgment.outcome
    rows: list[dict[str, Any]] = json.loads(str(judgment.outcome.details["errors"]))
    return rows


def variants(split: str, name: str) -> list[Mapping[str, Judgment]]:
    return [own for item, own in judged(split).items() if item.endswith(f"/{name}")]


def composite(own: Mapping[str, Judgment]) -> float:
    return sum(weight * float(own[name].score or 0) for name, weight in WEIGHTS.items())


@pytest.mark.parametrize("kind", NEW)
def test_what_is_planted_is_quoted_costs_and_has_its_class(kind: str) -> None:
    found = variants("dev", kind)
    assert len(found) == 4
    guessed = 0  # events that no source has are named at no cost
    for own in found:
        rows = errors(own["factual_accuracy"])
        assert [row["kind"] for row in rows] == [kind]
        costs = min(row["bucket"] for row in rows) < 5
        assert (own["factual_accuracy"].score or 0) <= (0.8 if costs else 1)
        guessed += not costs
        (quote,) = quotes({"errors": json.dumps(rows)})
        assert Rules().classify("errors", quote.text) == kind
    assert guessed == (2 if kind == "invented_detail" else 0)


@pytest.mark.parametrize(("split", "found"), [("dev", (4, 4, 4)), ("test", (4, 1, 4))])
def test_the_figures_in_the_documentation_are_those_of_the_rules(split: str, found: tuple[int, ...]) -> None:
    counts = dict.fromkeys(NEW, 0)
    for item, own in judged(split).items():
        case, variant = item.split("/")
        if variant in NEW:
            faithful = errors(judged(split)[f"{case}/perfect"]["factual_accuracy"])
            beside = [row for row in errors(own["factual_accuracy"]) if row not in faithful]
            counts[variant] += any(row["kind"] == variant for row in beside)
    assert tuple(counts.values()) == found


@pytest.mark.parametrize("variant", ["perfect", "verbose_filler", "omitted_facts", "wrong_vote", "wrong_date"])
def test_nothing_is_called_invented_or_hedged_where_nothing_is(variant: str) -> None:
    for own in variants("dev", variant):
        assert not [row for row in errors(own["factual_accuracy"]) if row["kind"] in NEW]


def test_without_an_opinion_citations_are_noted_and_nothing_is_scored() -> None:
    bare = [
        item.model_copy(update={"inputs": {k: v for k, v in item.inputs.items() if k != "opinion"}})
        for item in items("dev")
        if item.id.endswith(("/fabricated_citation", "/invented_detail", "/perfect"))
    ]
    found = [one for one in judge_items(bare, ["rubric=faithfulness", "judge=bucket_rules"])]
    for one in (each for each in found if each.criterion == "factual_accuracy"):
        assert isinstance(one.outcome, Verdict)
        assert one.score == 1 and errors(one) == []
        assert one.outcome.details["sources"] == "reference"
        assert ("noted" in one.outcome.details) == one.item_id.endswith("/fabricated_citation")
        if "noted" in one.outcome.details:
            (row,) = json.loads(str(one.outcome.details["noted"]))
            assert "there is no opinion to look it up in" in row["problem"] and row["bucket"] == 5


def test_hedges_that_cover_little_are_named_and_cost_nothing() -> None:
    reference = (
        "The tenant stopped paying rent because the heating had failed. The Supreme Court affirmed the judgment."
    )
    little = reference.replace("The tenant stopped", "The tenant possibly stopped")
    both = little.replace("Court affirmed", "Court apparently affirmed")
    scores = []
    for n, summary in enumerate((reference, little, both)):
        item = Item(id=f"c/{n}", inputs={"summary": summary, "reference": reference}, pair="c")
        own = next(iter(judge_items([item], ["rubric=faithfulness", "judge=bucket_rules"])))
        assert [row["kind"] for row in errors(own)] == ["hedging"] * n
        scores.append(own.score)
    assert scores == pytest.approx([1, 1, 0.8])


def test_the_faithful_summary_is_above_every_flawed_one_but_what_rules_cannot_tell() -> None:
    perfect = {item.split("/")[0]: composite(own) for item, own in judged("dev").items() if item.endswith("/perfect")}
    below: dict[str, list[float]] = {}
    for item, own in judged("dev").items():
        case, variant = item.split("/")
        below.setdefault(variant, []).append(perfect[case] - composite(own))
    del below["perfect"]
    assert {name for name, each in below.items() if max(each) < 1e-9} == set(UNTOLD)
    assert {name for name, each in below.items() if min(each) < 1e-9} == {*UNTOLD, *PARTLY}
    assert all(sum(each) > 0 for name, each in below.items() if name not in UNTOLD)
