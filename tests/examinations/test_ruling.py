"""The rules of the paired verdict on hand-made evidence: which rule applies first, and what
outweighs what."""

import functools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.examinations.builders import paired_run
from tests.examinations.conftest import words_of
from undogmatic.examinations.ab import examine, withheld
from undogmatic.examinations.pairs import match
from undogmatic.examinations.rivals import Outcome as OfSurface
from undogmatic.examinations.rivals import PairSettings, Rival
from undogmatic.examinations.ruling import Rule, Rules, Ruling, always, known, verdict
from undogmatic.examinations.ruling.ab import AB, AbFacts
from undogmatic.examinations.truth import Margin
from undogmatic.records.results import ANSWERS, Standing
from undogmatic.stats.claims import Claim
from undogmatic.stats.confound import AtEqual
from undogmatic.stats.estimate import Estimate, Outcome

MARGIN = Margin(10.0, "rubric", 100.0)


def found(
    outcome: Outcome,
    inner: tuple[float, float] | None = None,
    margin: float = 10.0,
    needed: int | None = 90,
) -> Claim:
    """A claim of this outcome; only what the rules read is told apart."""
    ends = {
        "beyond": (15.0, 25.0),
        "against": (-25.0, -15.0),
        "within": (-4.0, 5.0),
        "open": (3.0, 18.0),
    }[outcome]
    inner = inner or ends
    return Claim(
        outcome, Estimate(sum(ends) / 2, *ends, n_groups=46), inner, margin, needed
    )


def compared(
    p: float = 1e-6,
    share: float = 0.8,
    balance: float = 0.3,
    rank_biserial: float | None = 0.9,
) -> Any:
    """Of the comparison, what the rules read."""
    of_share = SimpleNamespace(estimate=Estimate(share, 0, 1, n=46), n_ties=0)
    of_balance = SimpleNamespace(estimate=Estimate(2 * share - 1, balance, 1))
    return SimpleNamespace(
        test=SimpleNamespace(p_value=p),
        share=of_share,
        balance=of_balance,
        rank_biserial=rank_biserial,
    )


@functools.cache
def real() -> AbFacts:
    """The facts of some pairs, of which the tests set all that the rules read."""
    judged = paired_run({side: [10.0, 20.0] for side in "tbh"})
    examined = examine(
        match(judged, "tbh"),
        PairSettings(1, MARGIN),
        np.random.default_rng(0),
        for_report=False,
    )
    return examined.facts


def of_surface(outcome: OfSurface) -> Rival:
    """A surface judge that came to this."""
    return Rival(outcome, 46, 46)


def facts(**changes: Any) -> AbFacts:
    """What supports the claim, with changes."""
    good = {
        "judged": {"t": 46, "b": 46},
        "n_pairs": 46,
        "n_groups": 46,
        "main": compared(),
        "difference": found("beyond"),
        "rival": of_surface("beyond_surface"),
        "length": "survives",
    }
    return replace(
        real(), **(good | hybrid(found("beyond"), surface="beyond_surface") | changes)
    )


def hybrid(
    over: Claim | None,
    under: Outcome = "within",
    groups: int = 46,
    surface: OfSurface | None = None,
) -> dict[str, object]:
    """Of the comparisons with the hybrid, what the rules read."""
    compared = {
        name: SimpleNamespace(claim=claim, n_groups=groups)
        for name, claim in (("over", over), ("under", found(under)))
    }
    return compared | {"over_rival": None if surface is None else of_surface(surface)}


BELOW = found("open", inner=(-14.0, 7.0))
ZERO = MARGIN._replace(value=0.0)
UNSET = MARGIN._replace(source="default")

TABLE: list[tuple[dict[str, object], str, Standing]] = [
    ({}, "supported", "supported"),
    ({"hybrid": None}, "supported", "supported"),
    ({"margin": UNSET}, "supported", "supported"),
    (
        {"judged": {"t": 0, "b": 46}, "n_pairs": 0, "n_groups": 0, "difference": None},
        "all_failed",
        "undecided",
    ),
    ({"n_pairs": 0, "n_groups": 0, "difference": None}, "no_pairs", "undecided"),
    ({"n_groups": 1, "difference": None}, "one_group", "undecided"),
    ({"n_pairs": 1, "n_groups": 1, "difference": None}, "too_few", "undecided"),
    ({"n_groups": 5}, "too_few", "undecided"),
    ({"margin": MARGIN._replace(value=100.0)}, "margin_wide", "undecided"),
    (
        {"main": compared(rank_biserial=None), "difference": found("within")},
        "identical",
        "refuted",
    ),
    ({"difference": found("against")}, "reversed", "refuted"),
    ({"difference": found("within")}, "within", "refuted"),
    ({"difference": found("within"), "margin": UNSET}, "no_margin", "undecided"),
    ({"difference": BELOW}, "below", "refuted"),
    ({"difference": BELOW, "margin": UNSET}, "no_margin", "undecided"),
    ({"difference": found("open")}, "open", "undecided"),
    ({"difference": found("open", needed=None)}, "open_endless", "undecided"),
    (
        {"difference": found("open", inner=(-9.0, -1.0), margin=0.0), "margin": ZERO},
        "open_zero",
        "undecided",
    ),
    (
        {"difference": found("open", margin=0.0), "margin": ZERO},
        "open_zero",
        "undecided",
    ),
    ({"rival": of_surface("surface_explains")}, "surface_explains", "refuted"),
    ({"rival": of_surface("surface_as_good")}, "surface_as_good", "undecided"),
    ({"rival": of_surface("open")}, "surface_open", "undecided"),
    ({"rival": of_surface("no_texts")}, "no_texts", "undecided"),
    ({"length": "confounded"}, "confounded", "refuted"),
    ({"length": "open"}, "length_open", "undecided"),
    ({"length": "inseparable"}, "inseparable", "undecided"),
    (hybrid(found("within")), "reads_citation", "refuted"),
    (hybrid(found("within"), "beyond"), "reads_citation", "refuted"),
    (hybrid(BELOW), "reads_citation", "refuted"),
    (
        hybrid(found("against"), "beyond") | {"margin": UNSET},
        "reads_citation",
        "refuted",
    ),
    (hybrid(found("within")) | {"margin": UNSET}, "hybrid_open", "undecided"),
    (hybrid(found("open"), "beyond"), "citation_first", "undecided"),
    (hybrid(found("open")), "hybrid_open", "undecided"),
    (hybrid(found("beyond"), groups=5), "hybrid_few", "undecided"),
    ({"over": None, "under": None}, "hybrid_few", "undecided"),
    (hybrid(found("beyond"), surface="open"), "hybrid_surface", "undecided"),
    (
        hybrid(found("beyond"), surface="surface_explains"),
        "hybrid_surface",
        "undecided",
    ),
    ({"main": compared(p=0.05)}, "inconsistent", "undecided"),
    ({"main": compared(share=0.5)}, "inconsistent", "undecided"),
    ({"main": compared(balance=0.0)}, "inconsistent", "undecided"),
]


@pytest.mark.parametrize(("changes", "key", "standing"), TABLE)
def test_every_rule(changes: dict[str, object], key: str, standing: Standing) -> None:
    ruling = verdict(AB, facts(**changes))
    assert (ruling.key, ruling.standing, ruling.others) == (key, standing, ())


def test_the_table_has_every_key_but_the_one_of_failures() -> None:
    assert {key for _, key, _ in TABLE} | {"missing"} == {rule.key for rule in AB.rules}


def test_the_gravest_reason_leads_and_the_others_follow() -> None:
    changes = hybrid(found("open")) | {
        "rival": of_surface("surface_as_good"),
        "main": compared(p=1),
    }
    ruling = verdict(AB, facts(length="confounded", **changes))
    assert (ruling.key, ruling.standing) == ("confounded", "refuted")
    assert ruling.others == ("surface_as_good", "hybrid_open", "inconsistent")
    ruling = verdict(
        AB, facts(rival=of_surface("surface_as_good"), length="inseparable")
    )
    assert (ruling.key, ruling.standing, ruling.others) == (
        "surface_as_good",
        "undecided",
        ("inseparable",),
    )


def test_only_what_refutes_leads_to_a_refutation() -> None:
    leaves = [rule.leaves for rule in AB.rules if rule.against]
    assert leaves == sorted(leaves, key=lambda each: each != "refuted")


def test_what_others_may_explain_is_not_yet_and_what_is_too_few_is_undecided() -> None:
    answers = {rule.key: ANSWERS[rule.leaves] for rule in AB.rules}
    assert (
        answers["surface_as_good"],
        answers["hybrid_few"],
        answers["inconsistent"],
    ) == ("not_yet",) * 3
    assert (answers["too_few"], answers["open"], answers["missing"]) == (
        "undecided",
    ) * 3
    assert (answers["supported"], answers["reversed"]) == ("yes", "no")


def test_failures_withhold_a_verdict_that_they_could_turn() -> None:
    yes, no = verdict(AB, facts()), verdict(AB, facts(difference=found("within")))
    reversed_, open_ = (
        verdict(AB, facts(difference=found(outcome))) for outcome in ("against", "open")
    )
    assert withheld(yes, yes) is yes
    assert withheld(no, reversed_) is no
    assert withheld(open_, yes) is open_
    for ruling, at_worst in ((yes, open_), (no, yes)):
        left: Ruling[AbFacts] = withheld(ruling, at_worst)
        assert (left.key, left.standing) == ("missing", "undecided")
        assert left.finding.values["otherwise"] == f"alone_{ruling.key}"


def test_a_fact_that_no_rule_has_made_sure_of_is_not_guessed() -> None:
    unsure = Rules[AbFacts](
        "ab.verdict_",
        (
            Rule(
                "reversed",
                "refuted",
                lambda f: known(f.difference).outcome == "against",
            ),
            Rule("open", "undecided", always),
        ),
    )
    assert verdict(unsure, facts(difference=found("against"))).key == "reversed"
    with pytest.raises(AssertionError, match="earlier rule"):
        verdict(unsure, facts(difference=None))


def test_what_a_sentence_names_stays_as_it_was_told() -> None:
    """The reasons behind the first are added to the sentence, not to what the rule gave."""
    told = {"n": 46}
    taste = Rules[AbFacts](
        "ab.verdict_",
        (
            Rule("confounded", "refuted", always, lambda f: told, against=True),
            Rule("open", "undecided", always),
        ),
    )
    sentence = verdict(taste, facts()).finding
    assert sentence.values == {"n": 46, "alone": 1, "also": []}
    assert told == {"n": 46}


def test_what_the_counter_did_not_foresee_is_told_where_it_decides() -> None:
    """The interval of what is left passes the margin, so it alone does not say what is missing."""
    left, moved = found("beyond"), found("within")
    rests = {}
    for low in (9.0, 11.0):
        at = AtEqual(
            20.0, left._replace(estimate=Estimate(16.0, low, 21.0)), moved, 0.2, False
        )
        told = verdict(AB, facts(rival=of_surface("open")._replace(at_equal=at)))
        assert told.finding.key == "ab.verdict_surface_open"
        (rests[low],) = told.finding.values["rest"]
    assert [rests[9.0].key, rests[11.0].key] == [
        "ab.open_left",
        "ab.open_left_unforeseen",
    ]
    assert rests[11.0].values["slack"] == pytest.approx(0.5 * 0.8)
    for language in ("en", "pt"):
        assert all(words_of(language).say(rest) for rest in rests.values())
