"""The verdict of a paired comparison as a finding: its key and the values that its wording uses."""

from __future__ import annotations

from typing import Any

from undogmatic.analyses.comparison import Settings
from undogmatic.analyses.evidence import Examined, Sides
from undogmatic.analyses.rivals import COLUMNS
from undogmatic.analyses.verdict import Key, Ruling
from undogmatic.records.results import Finding
from undogmatic.stats.surface import KERNELS

DIRECTIONS = ("higher", "lower")

Values = dict[str, Any]


def directions(sign: int) -> tuple[str, str]:
    """Where the treatment is expected to score, and the opposite."""
    return DIRECTIONS if sign > 0 else (DIRECTIONS[1], DIRECTIONS[0])


def verdict(ruling: Ruling, found: Examined, sides: Sides, settings: Settings, failed: int) -> Finding:
    """The sentence of a ruling.

    Args:
        ruling: The verdict.
        found: What it rests on.
        sides, settings: What was compared, and how.
        failed: Failed judgments of the conditions.
    """
    e = found.evidence
    unsaid: dict[Key, Values] = {
        "all_failed": {"conditions": [c for c, n in zip(sides, e.judged, strict=False) if n == 0]},
        "no_pairs": {"failed": failed},
        "one_group": {"n": e.n_pairs, "needed": e.fewest},
        "too_few": {"n": e.n_pairs, "groups": e.n_groups, "needed": e.fewest},
        "margin_wide": {"margin": settings.margin.value, "span": settings.margin.span},
    }
    values = unsaid.get(ruling.key)
    if values is None:
        values = {"treatment": sides.treatment, "baseline": sides.baseline, "expected": directions(settings.sign)[0]}
        if ruling.key == "missing":
            values |= {"failed": failed, "n": e.n_pairs, "otherwise": f"alone_{ruling.others[0]}"}
        elif e.difference is not None and e.difference.outcome == "beyond":
            values |= _beyond(ruling, found, sides, settings)
        else:
            values |= _not_beyond(ruling.key, found, settings)
    return Finding(f"ab.verdict_{ruling.key}", values)


def _not_beyond(key: Key, found: Examined, settings: Settings) -> Values:
    """What is named where the difference is not beyond the margin."""
    e, claim, alpha = found.evidence, found.evidence.difference, settings.alpha
    assert claim is not None, "a difference was looked at"
    if key == "identical":
        return {"n": e.n_pairs}
    size: Values = {"difference": claim.estimate, "interval": (claim.low, claim.high), "level": 1 - alpha}
    if key == "open_zero":
        return size
    size |= {"margin": settings.margin.value, "source": f"margin_{settings.margin.source}"}
    if key == "open":
        beyond = abs(claim.estimate) > settings.margin.value
        seen = "within" if not beyond else "beyond" if claim.estimate > 0 else "reversed"
        size |= {"groups": e.n_groups, "needed": claim.n_needed, "seen": f"seen_{seen}"}
    elif key == "reversed":
        size |= {"difference": -claim.estimate, "interval": (-claim.high, -claim.low), "n": e.n_pairs}
        size["opposite"] = directions(settings.sign)[1]
    elif key in ("within", "below", "no_margin"):  # decided by one-sided tests, whose interval is the narrower one
        size |= {"interval": claim.inner, "level": 1 - 2 * alpha}
    return size


def _beyond(ruling: Ruling, found: Examined, sides: Sides, settings: Settings) -> Values:
    """What is named where the difference is beyond the margin, whatever else stands against the claim."""
    claim, main, rival = found.evidence.difference, found.main, found.rival
    assert claim is not None, "there is a difference"
    assert main is not None, "there is a difference"
    assert rival is not None, "there is a difference"
    size: Values = {"difference": claim.estimate, "interval": (claim.low, claim.high), "level": 1 - settings.alpha}
    share: Values = {"share": main.share.share, "n": found.evidence.n_pairs}
    ties: Values = {"ties": main.share.n_ties}
    if ruling.key == "supported":
        source: Values = {"margin": settings.margin.value, "source": f"margin_{settings.margin.source}"}
        untied = int(main.share.n_ties == 0)
        return size | share | ties | source | {"untied": untied, "counts": len(COLUMNS), "kernels": KERNELS}
    if ruling.key == "surface_as_good":
        size |= share | {"surface": rival.share}
    elif ruling.key == "inconsistent":
        assert main.balance is not None, "there are groups"
        ends = main.balance.low, main.balance.high
        size |= share | ties | {"balance_interval": ends, "balance_level": main.balance.level, "p": main.test.p_value}
        size["against"] = 1 - main.share.share - main.share.n_ties / main.share.n_pairs
    elif ruling.key in ("reads_citation", "citation_first", "hybrid_open", "hybrid_few", "hybrid_surface"):
        size |= _hybrid(ruling.key, found, sides, settings)
    return size | {"alone": 0 if ruling.others else 1, "also": [f"also_{other}" for other in ruling.others]}


def _hybrid(key: Key, found: Examined, sides: Sides, settings: Settings) -> Values:
    e = found.evidence
    assert e.hybrid is not None, "the reason is the hybrid"
    if key == "hybrid_few":
        return {"hybrid": sides.hybrid, "groups": e.hybrid.n_groups, "needed": e.fewest}
    if key == "hybrid_surface":
        return {"hybrid": sides.hybrid}
    over = e.hybrid.over
    assert over is not None, "the reason is the hybrid"
    one_sided = key == "reads_citation"
    return {
        "hybrid": sides.hybrid,
        "over": over.estimate,
        "over_interval": over.inner if one_sided else (over.low, over.high),
        "over_level": 1 - (2 if one_sided else 1) * settings.alpha,
        "margin": settings.margin.value,
    }
