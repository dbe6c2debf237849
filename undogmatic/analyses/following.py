"""Does the score follow the human labels? The rules by which that is put into one sentence; docs/verdicts.md explains
them to readers."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses import labelled_rival, rivals
from undogmatic.analyses.base import Judged
from undogmatic.analyses.margins import Margin
from undogmatic.analyses.truth import units
from undogmatic.records.results import Finding, Standing
from undogmatic.stats import checks, limits
from undogmatic.stats.claims import Claim, claim

Array = NDArray[np.float64]

FEWEST_GROUPS = 10
"""Fewest independent groups of labelled texts for a verdict and for intervals."""
_FOLDS = 50

Size = Literal[
    "size_shown", "size_larger", "size_not_smaller", "size_bias", "size_bias_open", "size_no_margin", "size_missing"
]


class Settings(NamedTuple):
    """What the analysis was asked: `order` is the rank correlation from which scores follow labels."""

    order: float
    margin: Margin
    level: float


class Bounded(NamedTuple):
    """A mean against a margin over judged texts (`judged`), and over all texts with failed judgments at whichever end
    is against it (`worst`) and for it (`best`); the three are one where none failed."""

    judged: Claim
    worst: Claim
    best: Claim

    @property
    def sure(self) -> bool:
        """Whether failed judgments cannot turn the outcome."""
        return self.judged.outcome == self.worst.outcome == self.best.outcome


class Evidence(NamedTuple):
    """What the rules look at.

    `same_score`, `same_label`: the one value that all judged texts have, or None. `follows` is None without an interval
    of the rank correlation; `gain`, the error of the constant answer minus the judge's, and `bias`, score minus label,
    with fewer than FEWEST_GROUPS groups; `surface` unless the order is shown.
    """

    n: int
    failed: int
    n_groups: int
    same_score: float | None
    same_label: float | None
    follows: limits.Limits | None
    gain: Bounded | None
    bias: Bounded | None
    surface: labelled_rival.LabelledRival | None


def constant_errors(labels: Array, groups: list[str]) -> Array:
    """The absolute error of always answering the median of the labels of other groups, shape (n,)."""
    codes = pd.factorize(np.asarray(groups, dtype=object))[0]
    folds = codes % min(_FOLDS, int(codes.max()) + 1)
    errors = np.empty(labels.size)
    for fold in np.unique(folds):
        own = folds == fold
        others = labels[~own] if not own.all() else labels
        errors[own] = np.abs(labels[own] - np.median(others))
    return errors


def examine(judged: Judged, rows: pd.DataFrame, settings: Settings, rng: np.random.Generator) -> Evidence:
    """The numbers of labelled texts, judged and failed, that the verdict rests on.

    Args:
        judged: The run.
        rows: Its labelled rows, first repeat.
        settings: What was asked.
        rng: For the bootstrap.
    """
    done = rows[rows["error"].isna()]
    score, label = rows["score"].to_numpy(dtype=np.float64), rows["label"].to_numpy(dtype=np.float64)
    given = ~np.isnan(score)
    n_groups = len(set(units(done)))
    same_score, same_label = (_same(values[given]) for values in (score, label))
    found = Evidence(int(given.sum()), int((~given).sum()), n_groups, same_score, same_label, None, None, None, None)
    if n_groups < FEWEST_GROUPS:
        return found
    follows = None
    if same_score is None and same_label is None:
        follows = limits.order(score, label, rng, groups=units(rows), level=settings.level)
    gain, bias = _errors(judged, score, label, units(rows), settings)
    surface = None
    if follows is not None and limits.hold(follows, settings.order).outcome == "above":
        surface = labelled_rival.labelled_rival(
            done["text"].tolist(),
            score[given],
            label[given],
            units(done),
            rng,
            level=settings.level,
            known=labelled_rival.known_surface(judged.rubric.rivals, done["text"].tolist()),
        )
    return found._replace(follows=follows, gain=gain, bias=bias, surface=surface)


def _same(values: Array) -> float | None:
    return float(values[0]) if values.size and checks.is_constant(values) else None


def _errors(
    judged: Judged, score: Array, label: Array, groups: list[str], settings: Settings
) -> tuple[Bounded, Bounded]:
    """Error smaller than the constant answer's, and bias, each against its margin."""
    bottom, top = judged.rubric.minimum, judged.rubric.maximum
    given = ~np.isnan(score)
    constant = constant_errors(label, groups)
    farthest = np.where(label - bottom > top - label, bottom, top)
    fills: dict[str, list[Array | float]] = {"gain": [farthest, label], "bias": [bottom, top]}

    def bounded(name: str, margin: float) -> Bounded:
        def held(filled: Array, kept: NDArray[np.bool_]) -> Claim:
            values = constant - np.abs(filled - label) if name == "gain" else filled - label
            own = [group for group, one in zip(groups, kept, strict=True) if one]
            return claim(
                values[kept], margin, alpha=1 - settings.level, groups=own, bounds=(bottom - top, top - bottom)
            )

        alone = held(score, given)
        if given.all():
            return Bounded(alone, alone, alone)
        every = np.ones(score.size, dtype=np.bool_)
        return Bounded(alone, *(held(np.where(given, score, fill), every) for fill in fills[name]))

    return bounded("gain", 0.0), bounded("bias", settings.margin.value)


def size(evidence: Evidence, margin: Margin) -> Size:
    """Whether the score follows the labels in size, too, and if not, why: the gravest reason."""
    gain, bias = evidence.gain, evidence.bias
    assert gain is not None, "there are groups enough"
    assert bias is not None, "there are groups enough"
    if gain.judged.outcome == "against":
        return "size_larger"
    if gain.judged.outcome != "beyond":
        return "size_not_smaller"
    if bias.judged.outcome in ("beyond", "against"):
        return "size_bias"
    if not margin.equivalence:
        return "size_no_margin"
    if bias.judged.outcome == "open":
        return "size_bias_open"
    return "size_shown" if gain.sure and bias.sure else "size_missing"


def verdict(e: Evidence, settings: Settings) -> tuple[Finding, Standing]:
    """The first rule that applies."""
    if e.n_groups >= FEWEST_GROUPS and e.same_label is None and e.same_score is not None:
        return _same_score(e, e.same_score, settings)
    if e.follows is None:
        return _unsaid(e), "undecided"
    found = e.follows
    values: dict[str, Any] = {
        "spearman": found.estimate,
        "interval": (found.low, found.high),
        "level": settings.level,
        "n": e.n,
    }
    if found.high < 0:
        if found.best_high < 0:
            return Finding("labelled.verdict_reversed", values), "refuted"
        return _missing(e, "alone_reversed")
    return _ordered(e, found, settings, values | {"order": settings.order})


def _unsaid(e: Evidence) -> Finding:
    """What makes it impossible to say anything of the order."""
    if e.n_groups < FEWEST_GROUPS:
        return Finding("labelled.verdict_too_few", {"n": e.n, "groups": e.n_groups, "needed": FEWEST_GROUPS})
    if e.same_label is not None:
        return Finding("labelled.verdict_labels_equal", {"n": e.n, "label": e.same_label})
    return Finding("labelled.verdict_no_interval", {"n": e.n})


def _ordered(e: Evidence, found: limits.Limits, settings: Settings, values: dict[str, Any]) -> tuple[Finding, Standing]:
    """The rank correlation against what it must exceed."""
    held = limits.hold(found, settings.order)
    if held.outcome == "above":
        return _followed(e, settings, values)
    if held.outcome == "missing":
        return _missing(e, "alone_follows" if found.low > settings.order else "alone_too_weak")
    if held.outcome == "below":
        return Finding("labelled.verdict_too_weak", values), "refuted"
    gain = "open" if e.gain is None else e.gain.judged.outcome
    values["error"] = {"beyond": "error_smaller", "against": "error_larger"}.get(gain, "error_open")
    if held.n_needed is None:
        return Finding("labelled.verdict_open_endless", values), "undecided"
    return Finding("labelled.verdict_open", values | {"groups": e.n_groups, "needed": held.n_needed}), "undecided"


def _same_score(e: Evidence, score: float, settings: Settings) -> tuple[Finding, Standing]:
    """A judge that always says the same: shown not to follow once there are texts enough, if all were judged."""
    values: dict[str, Any] = {"n": e.n, "score": score, "order": settings.order}
    if not e.failed and limits.most_order(e.n_groups, settings.level) < settings.order:
        return Finding("labelled.verdict_scores_equal", values), "refuted"
    if e.failed:
        return _missing(e, "alone_same")
    needed = limits.fewest_same(settings.order, settings.level)
    return Finding("labelled.verdict_scores_equal_few", values | {"needed": needed}), "undecided"


def _missing(e: Evidence, otherwise: str) -> tuple[Finding, Standing]:
    values = {"failed": e.failed, "n": e.n, "otherwise": otherwise}
    return Finding("labelled.verdict_missing", values), "undecided"


def _followed(e: Evidence, settings: Settings, values: dict[str, Any]) -> tuple[Finding, Standing]:
    """The order is shown: does more than the surface make it, and is the size right?"""
    surface = e.surface
    assert surface is not None, "looked at where the order is shown"
    if surface.outcome == "surface_explains":
        return Finding(
            "labelled.verdict_surface_explains", values | {"small": labelled_rival.SMALL_CORRELATION}
        ), "refuted"
    if surface.outcome == "surface_as_good":
        return Finding("labelled.verdict_surface_as_good", values | {"surface": surface.correlation}), "undecided"
    if surface.outcome == "no_texts":
        return Finding("labelled.verdict_no_texts", values), "undecided"
    if surface.outcome == "open":
        return Finding("labelled.verdict_surface_open", values), "undecided"
    because = size(e, settings.margin)
    if because != "size_shown":
        return Finding("labelled.verdict_order", values | {"size": because, "counts": len(rivals.COLUMNS)}), "supported"
    assert e.gain is not None, "there are groups enough"
    gain = e.gain.judged
    shown = {"gain": gain.estimate, "gain_interval": (gain.low, gain.high), "margin": settings.margin.value}
    return Finding("labelled.verdict_order_and_size", values | shown | {"counts": len(rivals.COLUMNS)}), "supported"
