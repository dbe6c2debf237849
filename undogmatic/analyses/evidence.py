"""What the rules of a paired comparison look at, gathered from its pairs: also from pairs whose failures are filled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from undogmatic.analyses import length, rivals
from undogmatic.analyses.comparison import Comparison, Settings, compare
from undogmatic.analyses.pairs import Pairs
from undogmatic.analyses.verdict import Evidence, HybridEvidence
from undogmatic.stats import power


class Sides(NamedTuple):
    """The conditions that are compared; `hybrid` is None where no pair has one."""

    treatment: str
    baseline: str
    hybrid: str | None

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [name for name in self if name is not None]


class Lengths(NamedTuple):
    """The controls for length: by unit, by pairs of equal length, and what they come to together."""

    checks: list[length.LengthCheck]
    matched: length.Matched | None
    control: length.Control


class Examined(NamedTuple):
    """Comparisons, None where no pair has both conditions; lengths and rival, None for fewer than two groups or where
    they were not asked for; the rival of treatment against hybrid, None where their difference is not beyond the
    margin; and all of it as the rules see it.
    """

    main: Comparison | None
    over: Comparison | None
    under: Comparison | None
    lengths: Lengths | None
    rival: rivals.Rival | None
    rival_of_hybrid: rivals.Rival | None
    evidence: Evidence


def examine(
    pairs: Pairs, sides: Sides, settings: Settings, rng: np.random.Generator, *, for_report: bool = True
) -> Examined:
    """Gather the evidence on the scores that these pairs have.

    Args:
        pairs, sides, settings: What is compared, and how.
        rng: For rivals and lengths.
        for_report: Look at rivals and lengths whatever the difference is; else only where the rules ask for them, which
            is where it is beyond the margin.
    """
    treatment, baseline, hybrid = sides
    main = compare(pairs, treatment, baseline, settings)
    over = None if hybrid is None else compare(pairs, treatment, hybrid, settings)
    under = None if hybrid is None else compare(pairs, hybrid, baseline, settings)
    ids = pairs.complete(treatment, baseline)
    lengths, rival, third, rival_of_hybrid = None, None, None, None
    sign, margin = settings.sign, settings.margin.value
    span = settings.margin.span
    shared: dict[str, Any] = {"sign": sign, "margin": margin, "level": 1 - settings.alpha, "rng": rng}
    shared["bounds"] = -span, span
    if main is not None and main.claim is not None and (for_report or main.claim.outcome == "beyond"):
        checks = [length.check_length(pairs, treatment, baseline, ids, unit=unit, **shared) for unit in length.UNITS]
        matched = length.check_matched(
            pairs, treatment, baseline, ids, sign=sign, margin=margin, level=1 - settings.alpha
        )
        lengths = Lengths(checks, matched, length.control(checks[0], matched, sign, margin))
        rival = rivals.paired_rival(pairs, treatment, baseline, ids, **shared)
    if hybrid is not None:
        above, below = (None if one is None else one.claim for one in (over, under))
        if rival is not None and above is not None and above.outcome == "beyond":
            both = pairs.complete(treatment, hybrid)
            rival_of_hybrid = rivals.paired_rival(pairs, treatment, hybrid, both, **shared)
        outcome = None if rival_of_hybrid is None else rival_of_hybrid.outcome
        third = HybridEvidence(0 if over is None else over.n_groups, above, below, outcome)
    evidence = Evidence(
        judged=(len(pairs.complete(treatment)), len(pairs.complete(baseline))),
        n_pairs=len(ids),
        n_groups=0 if main is None else main.n_groups,
        fewest=power.fewest_pairs(settings.alpha),
        margin=settings.margin,
        identical=main is not None and main.rank_biserial is None,
        difference=None if main is None else main.claim,
        p_value=1.0 if main is None else main.test.p_value,
        share=0.0 if main is None else main.share.estimate.value,
        balance_low=0.0 if main is None or main.balance is None else main.balance.estimate.low,
        hybrid=third,
        surface=None if rival is None else rival.outcome,
        length=None if lengths is None else lengths.control,
    )
    return Examined(main, over, under, lengths, rival, rival_of_hybrid, evidence)
