"""Compares two conditions of the same pairs, and gathers what the rules of the paired verdict look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses import rivals
from undogmatic.analyses.pairs import Pairs, numbers
from undogmatic.analyses.rivals import PairSettings
from undogmatic.analyses.ruling import Ruling
from undogmatic.analyses.truth import Margin, units
from undogmatic.stats import claims, paired, ranking
from undogmatic.stats.claims import Claim, claim
from undogmatic.stats.confound import AtEqual
from undogmatic.stats.estimate import Estimate


class PairComparison(NamedTuple):
    """Condition `a` minus condition `b` over the pairs that have both.

    `differences` has shape (n_pairs,), `groups` the group of each. `claim` holds the mean difference *in the expected
    direction* (sign times a minus b) against the margin, `balance` the share of pairs in that direction minus the share
    of pairs in the other one against 0; None for fewer than two groups. `test` is over the means of groups,
    `rank_biserial` None where no pair differs; `auc` is how often a text of `a` lies on the expected side of a text of
    `b`, pairing ignored.
    """

    a: str
    b: str
    differences: NDArray[np.float64]
    groups: list[str]
    claim: Claim | None
    balance: Claim | None
    rank_biserial: float | None
    share: paired.ShareInDirection
    test: paired.WilcoxonResult
    auc: Estimate

    @property
    def n_groups(self) -> int:
        """Independent units."""
        return len(set(self.groups))


def compare(pairs: Pairs, a: str, b: str, settings: PairSettings) -> PairComparison | None:
    """Compare two conditions, or None if no pair has both scores."""
    sides = pairs.between(a, b)
    if sides[0].empty:
        return None
    groups, level, alpha = units(sides[0]), settings.level, settings.alpha
    first, second = (numbers(side, "score") for side in sides)
    d = first - second
    expected = settings.sign * d
    held = balance = None
    if len(set(groups)) > 1:
        margin, bounds = settings.margin.value, settings.bounds
        held = claim(expected, margin, alpha=alpha, power=settings.power, groups=groups, bounds=bounds)
        balance = claim(np.sign(expected), 0.0, alpha=alpha, groups=groups, bounds=(-1.0, 1.0))
    return PairComparison(
        a,
        b,
        d,
        groups,
        held,
        balance,
        paired.rank_biserial(d) if np.any(d != 0) else None,
        paired.share_in_direction(expected, level, groups=groups),
        paired.wilcoxon(of_groups(d, groups), settings.zero_method),
        ranking.auc(settings.sign * first, settings.sign * second, level, groups_a=groups, groups_b=groups),
    )


def of_groups(values: NDArray[np.float64], groups: list[str]) -> NDArray[np.float64]:
    """Mean per group, in order of appearance."""
    by = np.asarray(groups, dtype=object)
    return pd.Series(values).groupby(by, sort=False).mean().to_numpy(dtype=np.float64)


class HybridEvidence(NamedTuple):
    """Treatment against hybrid and hybrid against baseline, None where no pair has both, and the rival of the former;
    None, not looked at, where their difference is not beyond the margin."""

    over: PairComparison | None
    under: PairComparison | None
    rival: rivals.Rival | None


class PairEvidence(NamedTuple):
    """What the verdict looks at and what its sentence names: differences in the expected direction over complete pairs.

    `conditions` are treatment, baseline and, where pairs have one, the hybrid. `judged` counts the judged texts of the
    first two, `failed` the failed judgments of all; `fewest` is the smallest number of groups with which a result can
    be significant. `main` is None where no pair has both conditions, `hybrid` where the dataset has none. `surface` and
    `length` may be None, not looked at, where the difference is not beyond the margin. `otherwise` is the verdict that
    failed judgments could turn (`withheld`).

    Behind it stand lengths and rival, none for fewer than two groups or where they were not asked for.
    """

    judged: tuple[int, int]
    n_pairs: int
    n_groups: int
    fewest: int
    margin: Margin
    main: PairComparison | None
    difference: Claim | None
    hybrid: HybridEvidence | None
    surface: rivals.Outcome | None
    length: rivals.Control | None
    conditions: Sequence[str]
    settings: PairSettings
    failed: int = 0
    otherwise: str | None = None
    lengths: Mapping[str, AtEqual | None] = MappingProxyType({})
    matched: rivals.Matched | None = None
    rival: rivals.Rival | None = None

    @property
    def named(self) -> SimpleNamespace:
        """What sentences name besides: conditions, direction, who set the margin, levels, counts, the difference turned
        round."""
        treatment, baseline, *others = self.conditions
        expected, opposite = ("higher", "lower")[:: self.settings.sign]
        names = SimpleNamespace(
            treatment=treatment,
            baseline=baseline,
            hybrid=next(iter(others), None),
            unjudged=[c for c, n in zip(self.conditions, self.judged, strict=False) if n == 0],
            expected=expected,
            opposite=opposite,
            source=f"margin_{self.margin.source}",
            level=1 - self.settings.alpha,
            inner_level=1 - 2 * self.settings.alpha,
            counts=len(self.settings.seen.columns),
        )
        if self.difference is not None:
            names.turned, value = -self.difference.estimate, self.difference.estimate.value
            side = "beyond" if value > 0 else "reversed"
            names.seen = f"seen_{'within' if abs(value) <= self.margin.value else side}"
        if self.hybrid is not None:
            names.hybrid_groups = 0 if self.hybrid.over is None else self.hybrid.over.n_groups
        if self.main is not None:
            share, ties = self.main.share.estimate, self.main.share.n_ties
            names.against, names.untied = 1 - share.value - ties / share.n, int(ties == 0)
        return names

    @property
    def short(self) -> bool:
        """Whether the difference is shown not to reach the margin, by a one-sided test."""
        claim = self.difference
        return claim is not None and claim.outcome != "beyond" and claim.inner[1] < self.margin.value

    @property
    def inconsistent(self) -> bool:
        """Whether test, share and balance do not all go with the mean difference."""
        assert self.main is not None and self.main.balance is not None, "there is a difference"
        share, balance = self.main.share.estimate, self.main.balance.estimate
        return not (self.main.test.p_value < self.settings.alpha and balance.low > 0 and share.value > 0.5)

    @property
    def by_hybrid(self) -> str | None:
        """Does the treatment score beyond the margin above a text that explains *and* cites, and not by its surface?
        None, or what is the matter.

        A judge that reads citations and counts words would else pass: the one sets the treatment off from the baseline,
        the other from the hybrid.
        """
        if self.hybrid is None:
            return None
        over, under, rival = self.hybrid
        if over is None or over.claim is None or under is None or under.claim is None or over.n_groups < self.fewest:
            return "hybrid_few"
        if over.claim.outcome == "beyond":
            return None if rival is not None and rival.outcome == "beyond_surface" else "hybrid_surface"
        if over.claim.outcome == "against" or (self.margin.equivalence and over.claim.inner[1] < self.margin.value):
            return "reads_citation"
        return "citation_first" if under.claim.outcome == "beyond" else "hybrid_open"


def withheld(ruling: Ruling, at_worst: Ruling) -> Ruling:
    """The verdict where judgments failed.

    It stands if it stands, too, with all of them set to the end of the scale that speaks against it (`at_worst`); else
    they could turn it, and it is none.
    """
    if ruling.standing in ("undecided", at_worst.standing):
        return ruling
    return ruling.again(otherwise=f"alone_{ruling.key}")


def examine(pairs: Pairs, settings: PairSettings, rng: np.random.Generator, *, for_report: bool = True) -> PairEvidence:
    """Gather the evidence on the scores that these pairs have.

    Args:
        pairs, settings: What is compared (treatment, baseline, perhaps a hybrid), and how.
        rng: For rivals and lengths.
        for_report: Look at rivals and lengths whatever the difference is; else only where the rules ask for them, which
            is where it is beyond the margin.
    """
    treatment, baseline, *others = conditions = list(pairs.sides)
    main, both = compare(pairs, treatment, baseline, settings), pairs.between(treatment, baseline)
    lengths, matched, control, rival, third = {}, None, None, None, None
    if main is not None and main.claim is not None and (for_report or main.claim.outcome == "beyond"):
        lengths = {unit: rivals.at_equal_length(*both, unit, settings, rng) for unit in rivals.UNITS}
        matched, same = rivals.check_matched(*both, settings), rivals.same_length(*both, "characters")
        control = rivals.control(lengths["characters"], matched, settings, same)
        rival = rivals.paired_rival(*both, settings, rng)
    for hybrid in others:
        over, under = compare(pairs, treatment, hybrid, settings), compare(pairs, hybrid, baseline, settings)
        beyond = over is not None and over.claim is not None and over.claim.outcome == "beyond"
        look = rival is not None and beyond
        cited = rivals.paired_rival(*pairs.between(treatment, hybrid), settings, rng) if look else None
        third = HybridEvidence(over, under, cited)
    return PairEvidence(
        judged=(len(pairs.complete(treatment)), len(pairs.complete(baseline))),
        n_pairs=len(both[0]),
        n_groups=0 if main is None else main.n_groups,
        fewest=claims.fewest_pairs(settings.alpha),
        margin=settings.margin,
        main=main,
        difference=None if main is None else main.claim,
        hybrid=third,
        surface=None if rival is None else rival.outcome,
        length=control,
        conditions=conditions,
        settings=settings,
        failed=pairs.failed(*conditions),
        lengths=lengths,
        matched=matched,
        rival=rival,
    )
