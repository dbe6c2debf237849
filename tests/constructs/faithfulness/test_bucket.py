"""bucket_rules on the shipped summaries: what is invented or hedged is quoted, classed and costs,
the rest not."""

import functools
import json
from collections.abc import Mapping

import pytest

from benchmarks import planted
from benchmarks.planted import errors
from undogmatic.api import judge_items
from undogmatic.constructs.faithfulness.facts.accusations import is_sure
from undogmatic.constructs.faithfulness.facts.words import lexicon
from undogmatic.constructs.faithfulness.taxonomy import QuoteClasses, quotes
from undogmatic.records.records import Item, Judgment, Verdict
from undogmatic.safety.paths import data_folder

NEW = ("fabricated_citation", "invented_detail", "hedging")
UNTOLD = {
    "verbose_filler": "says nothing wrong",
    "hedging": "a doubt: eight of eight are too few to be sure of the kind",
}
"""What ties with the faithful summary, and why."""
PARTLY = {
    "invented_detail": "one without a number or date is a doubt, and costs nothing",
    "wrong_holding": (
        "turned round in other words it has no value, name or citation that rules could compare"
    ),
    "omitted_facts": (
        "in Portuguese cases what is left out resembles what is said, so that it counts as covered"
    ),
    "omitted_concurrence": "in Portuguese cases, for the same reason",
}
"""What ties in some cases, but not in the mean."""
NOT_SEEN = {
    ("us-brakes", "invented_detail"),
    ("br-horas", "invented_detail"),
    ("br-concurso", "invented_detail"),
}
ALARMS = {("us-brakes", "filled"), ("us-brakes", "lost"), ("br-concurso", "disse")}
"""Words of development cases that are called an invented event, wrongly and at no cost."""


@functools.cache
def items(split: str) -> tuple[Item, ...]:
    return tuple(planted.summaries(split))


# what is judged once serves all of them
pytestmark = pytest.mark.xdist_group("planted")


@functools.cache
def judged(split: str) -> Mapping[str, planted.Own]:
    return planted.judged(items(split))


@functools.cache
def measured(split: str) -> list[planted.Seen]:
    return planted.measured(items(split), judged(split))


@pytest.mark.parametrize("kind", NEW)
def test_what_is_planted_is_quoted_costs_and_has_its_class(kind: str) -> None:
    found = [each for each in measured("dev") if each.variant == kind]
    assert len(found) == 8
    assert {(each.case, kind) for each in found if not each.found} == {
        one for one in NOT_SEEN if one[1] == kind
    }
    doubts = 0
    for each in found:
        assert [row["kind"] for row in each.named] == [kind] * each.found
        assert not each.alarms
        for row in each.named:
            costs = row["bucket"] < 5
            assert each.lost >= 0.04 - 1e-9 if costs else each.lost == pytest.approx(0)
            assert row["doubt"] == (not costs)
            doubts += not costs
            (quote,) = quotes({"errors": json.dumps([row])})
            assert QuoteClasses().classify("errors", quote.text) == kind
    assert (
        doubts == {"invented_detail": 3, "hedging": 8, "fabricated_citation": 0}[kind]
    )


def test_the_stored_precision_is_that_of_development_and_a_kind_is_sure_after_many_right_accusations() -> (
    None
):
    assert planted.kept("dev") == lexicon("precision")
    assert is_sure("contradicted", "vote", 0.9) and is_sure(
        "contradicted", "no such kind", 0
    )
    assert is_sure("contradicted", "party", 0.9)
    # right eight times of eight: too few
    assert not is_sure("contradicted", "number", 0.9)
    assert not is_sure("invented", "event", 0.9)  # seldom right
    assert not is_sure("contradicted", "no such kind", 0.9)


def test_a_doubt_is_named_and_costs_nothing_in_either_pillar() -> None:
    reference = "The landlord sued because the heating had failed for 45 days. The rent was paid late."
    summary = reference.replace("45 days", "60 days")
    item = Item(id="c/1", inputs={"summary": summary, "reference": reference}, pair="c")

    def scored(judge: str, *more: str) -> list[Judgment]:
        return list(
            judge_items([item], ["rubric=faithfulness", f"judge={judge}", *more])
        )

    (doubted,) = scored("nli")
    assert isinstance(doubted.outcome, Verdict)
    assert doubted.score == 1
    assert [
        row["label"] for row in json.loads(str(doubted.outcome.details["sentences"]))
    ] == [
        "doubt",
        "none",
    ]
    (sure,) = scored("nli", "nli.sure=0")
    assert sure.score == 0.5
    accuracy = scored("bucket_rules")[0]
    (row,) = errors({accuracy.criterion: accuracy})
    assert isinstance(accuracy.outcome, Verdict)
    assert accuracy.score == 1 and row["doubt"] and row["kind"] == "number"
    assert accuracy.outcome.issues[0].startswith(
        "doubt: number: the reference says '45 days'"
    )
    assert scored("bucket_rules", "nli.sure=0")[0].score == pytest.approx(0.6)


def test_the_figures_in_the_documentation_are_those_of_the_rules() -> None:
    """Of development alone: who mends a rule shall not learn from the tests what it does to
    held-out cases."""
    written = (data_folder() / "README.md").read_text(encoding="utf-8").splitlines()
    rows = planted.table({"dev": measured("dev")})
    assert len(rows) == 11 and all(
        any(line.startswith(row) for line in written) for row in rows
    )


def test_nothing_is_called_invented_or_hedged_where_nothing_is() -> None:
    said = set()
    for item, own in judged("dev").items():
        case, variant = item.split("/")
        if variant in (
            "perfect",
            "verbose_filler",
            "omitted_facts",
            "wrong_vote",
            "wrong_date",
        ):
            rows = [row for row in errors(own) if row["kind"] in NEW]
            assert all(row["bucket"] == 5 for row in rows)
            said |= {(case, row["problem"].split("'")[1]) for row in rows}
    assert said == ALARMS


def test_without_an_opinion_citations_are_noted_and_nothing_is_scored() -> None:
    bare = [
        item.model_copy(
            update={"inputs": {k: v for k, v in item.inputs.items() if k != "opinion"}}
        )
        for item in items("dev")
        if item.id.endswith(("/fabricated_citation", "/invented_detail", "/perfect"))
    ]
    found = judge_items(bare, ["rubric=faithfulness", "judge=bucket_rules"])
    for one in (each for each in found if each.criterion == "factual_accuracy"):
        assert isinstance(one.outcome, Verdict)
        details = one.outcome.details
        assert (
            one.score == 1
            and errors({one.criterion: one}) == []
            and details["sources"] == "reference"
        )
        notes = json.loads(str(details.get("noted", "[]")))
        assert (
            len(notes)
            == ("noted" in details)
            == one.item_id.endswith("/fabricated_citation")
        )
        for row in notes:
            assert (
                "there is no opinion to look it up in" in row["problem"]
                and row["bucket"] == 5
            )


def test_hedges_that_cover_little_are_named_and_cost_nothing() -> None:
    reference = (
        "The tenant stopped paying rent because the heating had failed. The Supreme Court affirmed"
        " the judgment."
    )
    little = reference.replace("The tenant stopped", "The tenant possibly stopped")
    both = little.replace("Court affirmed", "Court apparently affirmed")
    scores = []
    for n, summary in enumerate((reference, little, both)):
        item = Item(
            id=f"c/{n}", inputs={"summary": summary, "reference": reference}, pair="c"
        )
        own = next(
            iter(
                judge_items(
                    [item],
                    ["rubric=faithfulness", "judge=bucket_rules", "judge.sure=0"],
                )
            )
        )
        assert [row["kind"] for row in errors({own.criterion: own})] == ["hedging"] * n
        scores.append(own.score)
    assert scores == pytest.approx([1, 1, 0.8])


def test_the_faithful_summary_is_above_every_flawed_one_but_what_rules_cannot_tell() -> (
    None
):
    below: dict[str, list[float]] = {}
    for each in measured("dev"):
        below.setdefault(each.variant, []).append(each.lost)
    assert {name for name, each in below.items() if max(each) < 1e-9} == set(UNTOLD)
    assert {name for name, each in below.items() if min(each) < 1e-9} == {
        *UNTOLD,
        *PARTLY,
    }
    assert all(sum(each) > 0 for name, each in below.items() if name not in UNTOLD)
