"""The rules by which a paired comparison is put into one sentence. docs/verdicts.md explains them to readers."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from undogmatic.analyses.length import Control
from undogmatic.analyses.margins import Margin
from undogmatic.analyses.rivals import Outcome as Surface
from undogmatic.records.results import Standing
from undogmatic.stats.claims import Claim

Key = Literal[
    # What cannot be said.
    "all_failed", "no_pairs", "one_group", "too_few", "margin_wide",
    # No difference beyond the margin in the expected direction.
    "identical", "reversed", "within", "below", "no_margin", "open", "open_endless", "open_zero",
    # Such a difference, but not one that is shown to be the judge's reading: in this order of weight.
    "surface_explains", "reads_citation", "confounded",
    "surface_as_good", "citation_first", "inseparable", "surface_open", "no_texts", "length_open", "hybrid_few",
    "hybrid_open", "hybrid_surface", "inconsistent",
    "supported",
    # The verdict hangs on judgments that failed.
    "missing",
]  # fmt: skip

REFUTING: tuple[Key, ...] = ("surface_explains", "reads_citation", "confounded")


class HybridEvidence(NamedTuple):
    """Claims in the expected direction: treatment minus hybrid, hybrid minus baseline; None for fewer than two groups.

    `n_groups` independent units have treatment and hybrid. `surface` is the rival of treatment against hybrid; None,
    not looked at, where their difference is not beyond the margin.
    """

    n_groups: int
    over: Claim | None
    under: Claim | None
    surface: Surface | None


class Evidence(NamedTuple):
    """What the rules look at; differences in the expected direction, over complete pairs.

    `judged` counts the judged texts of treatment and baseline, `fewest` is the smallest number of groups with which a
    result can be significant. `share` of the pairs go in the expected direction, and `balance_low` is the lower limit
    of that share minus the share of those that go the other way; ties are in neither. `hybrid` is None where the
    dataset has none. `surface` and `length` may be None, not looked at, where the difference is not beyond the margin.
    """

    judged: tuple[int, int]
    n_pairs: int
    n_groups: int
    fewest: int
    margin: Margin
    identical: bool
    difference: Claim | None
    p_value: float
    share: float
    balance_low: float
    hybrid: HybridEvidence | None
    surface: Surface | None
    length: Control | None


class Ruling(NamedTuple):
    """The verdict, how it leaves the claim, and what else stands against the claim, gravest first."""

    key: Key
    standing: Standing
    others: tuple[Key, ...] = ()


def decide(evidence: Evidence, alpha: float) -> Ruling:
    """The verdict on complete pairs; the first rule that applies, and of the reasons against a difference the gravest.

    Args:
        evidence: The numbers.
        alpha: Significance level.
    """
    unsaid = _unsaid(evidence)
    if unsaid is not None:
        return Ruling(unsaid, "undecided")
    if evidence.identical:
        return Ruling("identical", "refuted")
    found = evidence.difference
    assert found is not None, "two groups have a claim"
    if found.outcome == "against":
        return Ruling("reversed", "refuted")
    if found.outcome != "beyond":
        return _not_beyond(found, evidence.margin)
    reasons = _reasons(evidence, alpha)
    if not reasons:
        return Ruling("supported", "supported")
    return Ruling(reasons[0], "refuted" if reasons[0] in REFUTING else "undecided", tuple(reasons[1:]))


def withheld(ruling: Ruling, at_worst: Ruling) -> Ruling:
    """The verdict where judgments failed.

    It stands if it stands, too, with all of them set to the end of the scale that speaks against it (`at_worst`); else
    they could turn it, and it is none.
    """
    if ruling.standing in ("undecided", at_worst.standing):
        return ruling
    return Ruling("missing", "undecided", (ruling.key,))


def _unsaid(e: Evidence) -> Key | None:
    """What makes it impossible to say anything."""
    if min(e.judged) == 0:
        return "all_failed"
    if e.n_pairs == 0:
        return "no_pairs"
    if e.n_groups == 1 and e.n_pairs > 1:
        return "one_group"
    if e.n_groups < e.fewest:
        return "too_few"
    return None if e.margin.superiority else "margin_wide"


def _not_beyond(found: Claim, margin: Margin) -> Ruling:
    """No difference beyond the margin was shown: is it shown that there is none?"""
    if found.inner[1] < margin.value:  # a one-sided test: the difference does not reach the margin
        if margin.equivalence:
            return Ruling("within" if found.outcome == "within" else "below", "refuted")
        if margin.value > 0:
            return Ruling("no_margin", "undecided")
    if margin.value == 0:
        return Ruling("open_zero", "undecided")
    return Ruling("open" if found.n_needed is not None else "open_endless", "undecided")


def _reasons(e: Evidence, alpha: float) -> list[Key]:
    """Why a difference beyond the margin is not enough, gravest first."""
    surface: dict[Surface, Key] = {
        "surface_explains": "surface_explains",
        "surface_as_good": "surface_as_good",
        "open": "surface_open",
        "no_texts": "no_texts",
    }
    length: dict[Control, Key] = {"confounded": "confounded", "open": "length_open", "inseparable": "inseparable"}
    assert e.surface is not None, "looked at where the difference is beyond the margin"
    assert e.length is not None, "looked at where the difference is beyond the margin"
    found = {surface.get(e.surface), length.get(e.length), _hybrid(e)}
    if not (e.p_value < alpha and e.balance_low > 0 and e.share > 0.5):
        found.add("inconsistent")
    return [key for key in get_args(Key) if key in found]


def _hybrid(e: Evidence) -> Key | None:
    """Does the treatment score beyond the margin above a text that explains *and* cites, and not by its surface?

    A judge that reads citations and counts words would else pass: the one sets the treatment off from the baseline, the
    other from the hybrid.
    """
    if e.hybrid is None:
        return None
    over, under = e.hybrid.over, e.hybrid.under
    if over is None or under is None or e.hybrid.n_groups < e.fewest:
        return "hybrid_few"
    if over.outcome == "beyond":
        return None if e.hybrid.surface == "beyond_surface" else "hybrid_surface"
    if over.outcome == "against" or (e.margin.equivalence and over.inner[1] < e.margin.value):
        return "reads_citation"
    return "citation_first" if under.outcome == "beyond" else "hybrid_open"
