"""Holds the rules of `examinations.few_labels`: whether there are labels enough for an estimate."""

from dataclasses import dataclass

from undogmatic.examinations.ruling import Rule, Rules, Values, always, known
from undogmatic.stats.few_labels import Calibration, FewLabelsEstimate


@dataclass(frozen=True)
class FewLabelsFacts:
    """Counts `n` judged texts, their `labels` and how many groups of these there are in effect, and
    how many of each an estimate by this `map` of scores to labels needs; `mean` is the estimate,
    None with fewer."""

    n: int
    labels: int
    effective: float
    map: Calibration
    level: float
    fewest: int
    fewest_effective: float
    fewest_for_map: int
    mean: FewLabelsEstimate | None = None


def _estimate(facts: FewLabelsFacts) -> Values:
    mean = known(facts.mean)
    return {
        "n": facts.n,
        "labels": facts.labels,
        "level": facts.level,
        "estimate": mean.estimate.value,
        "interval": mean.estimate.interval,
        "judge": mean.judge_mean,
        "only": mean.labels_only.value,
        "only_interval": mean.labels_only.interval,
    }


def _too_few_groups(facts: FewLabelsFacts) -> Values:
    return {
        "n": facts.labels,
        "effective": facts.effective,
        "needed": facts.fewest_effective,
    }


def _too_few_for_map(facts: FewLabelsFacts) -> Values:
    return {
        "n": facts.labels,
        "effective": facts.effective,
        "needed": facts.fewest_for_map,
        "map": facts.map,
    }


FEW_LABELS = Rules[FewLabelsFacts](
    "few_labels.verdict_",
    (
        Rule(
            "too_few",
            None,
            lambda f: f.labels < f.fewest,
            lambda f: {"n": f.labels, "needed": f.fewest},
        ),
        Rule(
            "too_few_groups",
            None,
            lambda f: f.effective < f.fewest_effective,
            _too_few_groups,
        ),
        Rule("too_few_for_map", None, lambda f: f.mean is None, _too_few_for_map),
        Rule("estimate", None, always, _estimate),
    ),
)
