"""Estimates the mean score and the pair difference of all judged texts from a few human labels, and
how many to buy."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, get_args

import numpy as np
import pandas as pd
from pydantic import Field

from undogmatic.errors import DataError
from undogmatic.examinations.base import Limited, Share, Unsuited, need
from undogmatic.examinations.pairs import Names, contrast, listed, numbers, refuse_twice
from undogmatic.examinations.ruling import verdict
from undogmatic.examinations.ruling.few_labels import FEW_LABELS, FewLabelsFacts
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.truth import check_order, check_scale
from undogmatic.records.results import Told
from undogmatic.stats import few_labels, means
from undogmatic.stats.estimate import Unit
from undogmatic.stats.few_labels import (
    FEWEST_EFFECTIVE,
    FEWEST_ISOTONIC,
    Calibration,
    FewLabelsEstimate,
)
from undogmatic.stats.means import Bounds

FEWEST_LABELS = 10
"""Fewest labels for an estimate: with less, its own spread is guesswork."""

INCLUSION = "metadata.inclusion_probability"
"""The probability with which a text was chosen for labelling, where labels were not drawn evenly (a
review queue)."""


@dataclass(frozen=True)
class FewLabelsAnalysis(Limited):
    """Prediction-powered estimates over the first repeat.

    The unit is the group: texts of one pair (or precedent, or source) count together, and degrees
    of freedom are those of the labelled groups. Labels are taken as an even random sample of the
    judged texts, unless `metadata.inclusion_probability` says with which probability each was
    drawn. An estimate that uses labels chosen otherwise is wrong, and no test can show it.

    Args:
        treatment, baseline: Conditions whose difference within pairs is estimated, where there are
            such pairs; of several names the first that stand together in the dataset
            (`pairs.contrast`).
        calibration: The map of scores to labels by which verdict and metrics go; the table has all
            that the labels allow.
        target_width: Wanted width (high minus low) of the interval of the mean, in score units;
            None is a tenth of the scale.
        level: Confidence level of the intervals.
    """

    name: ClassVar[str] = "few_labels"
    treatment: Names
    baseline: Names
    calibration: Calibration = "none"
    target_width: Annotated[float, Field(gt=0)] | None = None
    level: Share = 0.95

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited without labels, DataError for a label off the scale, an impossible
        probability or a pair with two texts of a condition."""
        check_order(self.name, judged.rubric)
        need(judged, self.name, "label")
        labelled = judged.frame[judged.frame["label"].notna()]
        check_scale(labelled, "label", "label", judged.rubric)
        if INCLUSION in labelled:
            given = pd.to_numeric(labelled[INCLUSION], errors="coerce")
            wrong = labelled[~((given > 0) & (given <= 1))]
            if len(wrong):
                row = wrong.iloc[0]
                raise DataError(
                    f"item {row['item_id']!r}: `inclusion_probability` is {row[INCLUSION]}; every"
                    " labelled text needs a number above 0 and at most 1, or none of them any."
                )
        refuse_twice(judged.first(*listed(self.treatment), *listed(self.baseline)))
        if len(labelled["item_id"].unique()) < FEWEST_LABELS:
            raise Unsuited(
                f"analysis={self.name} needs at least {FEWEST_LABELS} labelled texts; the dataset"
                f" has {len(labelled)}."
            )

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result without headline: an estimate of the texts, not a merit of the judge."""
        self.check(judged)
        rows, tell = judged.scored().reset_index(drop=True), Told(self.name)
        n_labels = int(rows["label"].notna().sum())
        tell.number(len(rows), "judged", unit="count")
        tell.number(n_labels, "labels", unit="count")
        effective, of_all = self._estimates(rows, judged.scale)
        facts = FewLabelsFacts(
            n=len(rows),
            labels=n_labels,
            effective=effective,
            map=self.calibration,
            level=self.level,
            fewest=FEWEST_LABELS,
            fewest_effective=FEWEST_EFFECTIVE,
            fewest_for_map=FEWEST_ISOTONIC,
        )
        if self.calibration not in of_all:
            return [tell.result(verdict(FEW_LABELS, facts).finding)]
        mean = of_all[self.calibration]
        tell.number(mean.estimate, "mean", unit="score")
        tell.number(mean.judge_mean, "judge_mean", unit="score")
        table = [_row("all", one) for one in of_all.values()]
        tell.say("weighted" if INCLUSION in rows else "even")
        # What the other maps would say: the choice is the reader's, and is made before the figures
        # are seen.
        others = [one for name, one in of_all.items() if name != self.calibration]
        told: dict[str, Any] = {"used": self.calibration} | (
            {"needed": FEWEST_ISOTONIC} if len(others) == 1 else {}
        )
        for place, other in zip(("first", "second"), others, strict=False):
            told |= {place: other.calibration} | other.estimate.values(
                f"{place}_estimate", f"{place}_"
            )
        tell.say("maps_but_isotonic" if len(others) == 1 else "maps", told)
        treatment, baseline = contrast(self.treatment, self.baseline, rows)
        paired = (
            rows[(rows["condition"] == c) & rows["pair_id"].notna()]
            for c in (treatment, baseline)
        )
        both = pd.merge(*paired, on="pair_id", suffixes=("_a", "_b"))
        (bottom, top) = judged.scale
        # A pair is labelled as one: its two texts carry the same probability.
        apart = both.rename(columns={"group_a": "group", f"{INCLUSION}_a": INCLUSION})
        # Within a pair what both texts share cancels out, so that the difference is surer than
        # either mean.
        apart = apart.assign(
            **{
                name: both[f"{name}_a"] - both[f"{name}_b"]
                for name in ("score", "label")
            }
        )
        _, differences = self._estimates(apart, (bottom - top, top - bottom))
        if self.calibration in differences:
            one = differences[self.calibration]
            tell.number(one.estimate, "difference", unit="change")
            rows_of = [_row("difference", effect) for effect in differences.values()]
            units: dict[str, Unit] = {"estimate": "change", "labels_only": "change"}
            tell.table("differences", pd.DataFrame(rows_of), **units)
            sides = {
                "treatment": treatment,
                "baseline": baseline,
                "n": one.n_items,
                "labels": one.estimate.n,
            }
            tell.say(
                "difference", sides, one.estimate.values("estimate"), level=self.level
            )
        # What was drawn unevenly has no order in which looks would count alike.
        if INCLUSION not in rows:
            self._while_labelling(tell, rows, judged.scale)
        shown = {
            name if name != "none" else "corrected": effect.estimate
            for name, effect in of_all.items()
        }
        shown["only_labels"] = mean.labels_only
        data = {
            "labels": list(shown),
            "estimate": [effect.value for effect in shown.values()],
        }
        data |= {
            end: [getattr(effect, end) for effect in shown.values()]
            for end in ("low", "high")
        }
        tell.draw(
            "estimates", "forest", **data, reference=mean.judge_mean, x_label="label"
        )
        tell.table(
            "estimates", pd.DataFrame(table), estimate="score", labels_only="score"
        )
        return [tell.result(verdict(FEW_LABELS, replace(facts, mean=mean)).finding)]

    def _estimates(
        self, rows: pd.DataFrame, bounds: Bounds
    ) -> tuple[float, dict[Calibration, FewLabelsEstimate]]:
        """How many labelled groups there are in effect, and the estimate by each map that so many
        allow; none with too few labels."""
        labelled = np.flatnonzero(rows["label"].notna())
        groups = rows["group"].to_numpy()
        if len(labelled) < FEWEST_LABELS:
            return 0.0, {}
        inclusion = numbers(rows, INCLUSION)[labelled] if INCLUSION in rows else None
        texts = numbers(rows, "score"), labelled, numbers(rows, "label")[labelled]
        shared: dict[str, Any] = {
            "inclusion": inclusion,
            "groups": groups,
            "level": self.level,
            "bounds": bounds,
        }
        effective = few_labels.effective_labels(inclusion, groups[labelled])
        needed = {
            name: FEWEST_ISOTONIC if name == "isotonic" else FEWEST_EFFECTIVE
            for name in get_args(Calibration)
        }
        allowed: list[Calibration] = [
            name for name, least in needed.items() if effective >= least
        ]
        return effective, {
            name: few_labels.estimate_mean(*texts, calibration=name, **shared)
            for name in allowed
        }

    def _while_labelling(self, tell: Told, rows: pd.DataFrame, bounds: Bounds) -> None:
        """How many labels the wanted width takes, and the interval that holds at every look while
        labels come in, in the order of the dataset; of these texts alone.

        Where every labelled group is labelled whole, groups were drawn and are the looks; else
        texts were.
        """
        width = (
            (bounds[1] - bounds[0]) / 10
            if self.target_width is None
            else self.target_width
        )
        labelled = np.flatnonzero(rows["label"].notna())
        groups = rows["group"].to_numpy()
        labels = numbers(rows, "label")[labelled]
        shared = {
            "groups": groups.tolist(),
            "bounds": bounds,
        }
        budget = few_labels.label_budget(
            numbers(rows, "score"), labelled, labels, width, level=self.level, **shared
        )
        if budget is None:
            tell.say("budget_unknown", labels=len(labelled), few=means.FEW)
        elif budget.with_judge is None:
            tell.say(
                "budget_beyond", width=width, n=budget.n_items, all=budget.width_if_all
            )
        else:
            tell.number(budget.with_judge, "needed", unit="count")
            counts = {
                "with_judge": budget.with_judge,
                "only": budget.labels_only,
                "n": budget.n_items,
            }
            tell.say("budget", counts, width=width)
        # Where some texts of a group have labels and others not, the labels were not drawn by
        # groups.
        whole = np.isin(groups, groups[labelled]).sum() == len(labelled)
        names = groups if whole else np.arange(len(groups))
        found = means.mean_so_far(
            labels, names[labelled], names, *bounds, level=self.level
        )
        if found is not None and found.estimate.n != found.n_total:
            counts = {"n": found.estimate.n, "total": found.n_total}
            tell.say(
                "whenever", counts, found.estimate.values("mean"), level=self.level
            )


def _row(of: str, found: FewLabelsEstimate) -> dict[str, Any]:
    row = {
        "of": of,
        "calibration": found.calibration,
        "n_items": found.n_items,
        "n_labels": found.estimate.n,
    }
    row |= found.estimate.row() | {"degrees": found.estimate.df}
    return row | found.labels_only.row("labels_only", "labels_only_")
