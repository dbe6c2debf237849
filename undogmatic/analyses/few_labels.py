"""Estimates the mean score and the pair difference of all judged texts from a few human labels, and how many to buy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses.base import Judged, Unsuited, check_level
from undogmatic.analyses.pairs import Names, contrast, listed, refuse_twice
from undogmatic.analyses.ruling import FEW_LABELS, verdict
from undogmatic.analyses.truth import check_order, check_scale
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.results import AnalysisResult, FigureData, Finding
from undogmatic.records.rubric import Rubric
from undogmatic.stats import few_labels, means
from undogmatic.stats.few_labels import FEWEST_EFFECTIVE, FEWEST_ISOTONIC, Calibration

FEWEST_LABELS = 10
"""Fewest labels for an estimate: with less, its own spread is guesswork."""

INCLUSION = "metadata.inclusion_probability"
"""The probability with which a text was chosen for labelling, where labels were not drawn evenly (a review queue)."""

MAPS: tuple[Calibration, ...] = get_args(Calibration)

COLUMNS = (
    "of calibration n_items n_labels estimate low high degrees labels_only labels_only_low labels_only_high"
).split()


class LabelsEvidence(NamedTuple):
    """What the verdict looks at: judged texts, labels, as how many independent labels they count, and the estimate."""

    n: int
    labels: int
    map: Calibration
    level: float
    effective: float = 0.0
    mean: few_labels.FewLabelsEstimate | None = None
    fewest: int = FEWEST_LABELS
    fewest_effective: float = FEWEST_EFFECTIVE
    fewest_for_map: float = FEWEST_ISOTONIC


@dataclass(frozen=True)
class FewLabelsAnalysis:
    """Prediction-powered estimates over the first repeat.

    The unit is the group: texts of one pair (or precedent, or source) count together, and degrees of freedom are those
    of the labelled groups. Labels are taken as an even random sample of the judged texts, unless
    `metadata.inclusion_probability` says with which probability each was drawn. An estimate that uses labels chosen
    otherwise is wrong, and no test can show it.

    Args:
        treatment, baseline: Conditions whose difference within pairs is estimated, where there are such pairs; of
            several names the first that stand together in the dataset (`pairs.contrast`).
        calibration: The map of scores to labels by which verdict and metrics go; the table has all that the labels
            allow.
        target_width: Wanted width (high minus low) of the interval of the mean, in score units; None is a tenth of the
            scale.
        level: Confidence level of the intervals.
    """

    name: ClassVar[str] = "few_labels"
    treatment: Names
    baseline: Names
    calibration: Calibration = "none"
    target_width: float | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level)
        if self.target_width is not None and self.target_width <= 0:
            raise ConfigError(f"`analysis.target_width` is {self.target_width}; an interval has a width above 0.")

    def check(self, judged: Judged) -> None:
        """Raises Unsuited without labels, DataError for a label off the scale, an impossible probability or a pair with
        two texts of a condition."""
        check_order(self.name, judged.rubric)
        judged.need(self.name, "label")
        labelled = judged.frame[judged.frame["label"].notna()]
        check_scale(labelled, "label", "label", judged.rubric)
        if INCLUSION in labelled:
            given = pd.to_numeric(labelled[INCLUSION], errors="coerce")
            wrong = labelled[~((given > 0) & (given <= 1))]
            if len(wrong):
                row = wrong.iloc[0]
                raise DataError(
                    f"item {row['item_id']!r}: `inclusion_probability` is {row[INCLUSION]}; every labelled text needs "
                    "a number above 0 and at most 1, or none of them any."
                )
        first = judged.frame[judged.frame["repeat"] == 0]
        refuse_twice(first[first["condition"].isin([*listed(self.treatment), *listed(self.baseline)])])
        if len(labelled["item_id"].unique()) < FEWEST_LABELS:
            raise Unsuited(
                f"analysis={self.name} needs at least {FEWEST_LABELS} labelled texts; the dataset has {len(labelled)}."
            )

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result without headline: an estimate of the texts, not a merit of the judge."""
        self.check(judged)
        rows = judged.scored().reset_index(drop=True)
        labelled = np.flatnonzero(rows["label"].notna())
        metrics: dict[str, float] = {"few_labels.judged": len(rows), "few_labels.labels": len(labelled)}
        evidence = LabelsEvidence(len(rows), len(labelled), self.calibration, self.level)
        if len(labelled) < FEWEST_LABELS:
            return [AnalysisResult(self.name, metrics, verdict=verdict(FEW_LABELS, evidence).finding)]
        inclusion = _inclusion(rows, labelled)
        effective = few_labels.effective_labels(inclusion, rows["group"].to_numpy()[labelled])
        evidence = evidence._replace(effective=effective)
        if effective < FEWEST_EFFECTIVE or self.calibration not in _maps_for(effective):
            return [AnalysisResult(self.name, metrics, verdict=verdict(FEW_LABELS, evidence).finding)]
        scores, labels = rows["score"].to_numpy(dtype=np.float64), rows["label"].to_numpy(dtype=np.float64)[labelled]
        bottom, top = judged.rubric.minimum, judged.rubric.maximum
        of_all = {
            calibration: few_labels.estimate_mean(
                scores, labelled, labels, inclusion=inclusion, calibration=calibration, groups=rows["group"],
                level=self.level, bounds=(bottom, top),
            )
            for calibration in _maps_for(effective)
        }  # fmt: skip
        mean = of_all[self.calibration]
        metrics |= mean.estimate.metrics("few_labels.mean")
        metrics["few_labels.judge_mean"] = mean.judge_mean
        table = [_row("all", found) for found in of_all.values()]
        findings = [Finding("few_labels.weighted" if inclusion is not None else "few_labels.even", {})]
        others = [found for name, found in of_all.items() if name != self.calibration]
        findings.append(_maps(mean, others))
        sides = contrast(self.treatment, self.baseline, rows)
        differences = self._pairs(rows, *sides, top - bottom)
        if self.calibration in differences:
            found = differences[self.calibration]
            metrics |= found.estimate.metrics("few_labels.difference")
            table += [_row("difference", each) for each in differences.values()]
            values: dict[str, Any] = {
                "treatment": sides[0],
                "baseline": sides[1],
                "n": found.n_items,
                "labels": found.n_labels,
            }
            values |= {**found.estimate.values("estimate"), "level": self.level}
            findings.append(Finding("few_labels.difference", values))
        if inclusion is None:
            findings += self._budget(judged, scores, labelled, labels, rows["group"].tolist(), metrics)
            findings += _whenever(rows, labelled, labels, judged.rubric, self.level)
        shown = [(name if name != "none" else "corrected", each) for name, each in of_all.items()]
        data = {
            "labels": [*(name for name, _ in shown), "only_labels"],
            "estimate": [*(each.estimate.value for _, each in shown), mean.labels_only.value],
            "low": [*(each.estimate.low for _, each in shown), mean.labels_only.low],
            "high": [*(each.estimate.high for _, each in shown), mean.labels_only.high],
            "reference": mean.judge_mean,
            "x_label": "label",
        }
        figures = [FigureData("estimates", "forest", data)]
        tables = {"estimates": pd.DataFrame(table, columns=COLUMNS)}
        ruling = verdict(FEW_LABELS, evidence._replace(mean=mean))
        return [AnalysisResult(self.name, metrics, tables, findings, figures, ruling.finding)]

    def _pairs(
        self, rows: pd.DataFrame, treatment: str, baseline: str, span: float
    ) -> dict[Calibration, few_labels.FewLabelsEstimate]:
        """The difference within pairs by each map; none without pairs, or with too few labelled on both sides."""
        sides = [rows[(rows["condition"] == c) & rows["pair_id"].notna()] for c in (treatment, baseline)]
        both = sides[0].merge(sides[1], on="pair_id", suffixes=("_a", "_b"))
        known = np.flatnonzero(both["label_a"].notna() & both["label_b"].notna())
        if len(known) < FEWEST_LABELS:
            return {}
        joint = None
        if f"{INCLUSION}_a" in both:
            # A pair is labelled as one: its two texts carry the same probability.
            joint = both[f"{INCLUSION}_a"].to_numpy(dtype=np.float64)[known]
        effective = few_labels.effective_labels(joint, both["group_a"].to_numpy()[known])
        if effective < FEWEST_EFFECTIVE:
            return {}
        return {
            calibration: few_labels.estimate_difference(
                both["score_a"], both["score_b"], known, both["label_a"].to_numpy()[known],
                both["label_b"].to_numpy()[known], inclusion=joint, calibration=calibration, groups=both["group_a"],
                level=self.level, bounds=(-span, span),
            )
            for calibration in _maps_for(effective)
        }  # fmt: skip

    def _budget(
        self,
        judged: Judged,
        scores: NDArray[np.float64],
        labelled: NDArray[np.intp],
        labels: NDArray[np.float64],
        groups: list[str],
        metrics: dict[str, float],
    ) -> list[Finding]:
        """How many labels the wanted width takes; adds its metrics."""
        bottom, top = bounds = judged.rubric.minimum, judged.rubric.maximum
        width = (top - bottom) / 10 if self.target_width is None else self.target_width
        found = few_labels.label_budget(scores, labelled, labels, width, level=self.level, groups=groups, bounds=bounds)
        if found is None:
            return [Finding("few_labels.budget_unknown", {"labels": len(labelled), "few": means.FEW})]
        if found.with_judge is None:
            values: dict[str, Any] = {"width": width, "n": found.n_items, "all": found.width_if_all}
            return [Finding("few_labels.budget_beyond", values)]
        metrics["few_labels.needed"] = found.with_judge
        values = {"width": width, "with_judge": found.with_judge, "only": found.labels_only, "n": found.n_items}
        return [Finding("few_labels.budget", values)]


def _maps_for(effective: float) -> list[Calibration]:
    """The maps that so many effective labelled groups allow."""
    return [own for own in MAPS if own != "isotonic" or effective >= FEWEST_ISOTONIC]


def _inclusion(rows: pd.DataFrame, labelled: NDArray[np.intp]) -> NDArray[np.float64] | None:
    if INCLUSION not in rows:
        return None
    return rows[INCLUSION].to_numpy(dtype=np.float64)[labelled]


def _row(of: str, found: few_labels.FewLabelsEstimate) -> dict[str, Any]:
    cells = (
        of,
        found.calibration,
        found.n_items,
        found.n_labels,
        found.estimate.value,
        found.estimate.low,
        found.estimate.high,
        found.estimate.df,
    )
    return dict(
        zip(COLUMNS, (*cells, found.labels_only.value, found.labels_only.low, found.labels_only.high), strict=True)
    )


def _maps(mean: few_labels.FewLabelsEstimate, others: list[few_labels.FewLabelsEstimate]) -> Finding:
    """What the other maps would say: the choice is the reader's, and is made before the figures are seen."""
    values: dict[str, Any] = {"used": mean.calibration}
    for place, other in zip(("first", "second")[: len(others)], others, strict=True):
        values |= {place: other.calibration, f"{place}_estimate": other.estimate.value}
        values[f"{place}_interval"] = other.estimate.interval
    if len(others) == 1:
        return Finding("few_labels.maps_but_isotonic", values | {"needed": FEWEST_ISOTONIC})
    return Finding("few_labels.maps", values)


def _whenever(
    rows: pd.DataFrame, labelled: NDArray[np.intp], labels: NDArray[np.float64], rubric: Rubric, level: float
) -> list[Finding]:
    """The interval that holds at every look while labels come in, in the order of the dataset; of these texts alone.

    Where every labelled group is labelled whole, groups were drawn and are the looks; else texts were.
    """
    groups = rows["group"]
    of_labels = groups.to_numpy()[labelled]
    whole = groups[groups.isin(of_labels)].size == len(labelled)
    names = groups.to_numpy() if whole else np.arange(len(rows))
    found = means.mean_so_far_of_groups(labels, names[labelled], names, rubric.minimum, rubric.maximum, level=level)
    if found is None or found.estimate.n == found.n_total:
        return []
    values = {"n": found.estimate.n, "total": found.n_total, "interval": found.estimate.interval, "level": level}
    return [Finding("few_labels.whenever", values | {"mean": found.estimate.value})]
