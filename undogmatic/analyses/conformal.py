"""Intervals with a stated coverage, fitted on one part of the labelled texts and verified on the other."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from undogmatic.analyses import plots
from undogmatic.analyses.base import Judged, check_groups, check_level
from undogmatic.analyses.ruling import CONFORMAL, verdict
from undogmatic.analyses.truth import drawn, read_truth, units
from undogmatic.config.build import LARGEST_SEED
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.results import AnalysisResult, Telling
from undogmatic.stats import conformal

Flags = NDArray[np.bool_]
COLUMNS = ["method", "group", "n_fit", "n", "coverage", "low", "high", "band_low", "band_high", "mean_width", "reach"]


@dataclass(frozen=True)
class ConformalAnalysis:
    """Split conformal intervals around scores and around the judge's own ranges, and per group (Mondrian).

    Texts of one pair fall into the same part. A method or group without enough fitted texts is refused, with the number
    needed; nothing is widened in silence to make up for it.

    Args:
        nominal: Wanted coverage.
        fit_share: Share of the labelled texts that the intervals are fitted on; the others verify them.
        by: Group for the Mondrian intervals and the slices: "condition" or a metadata key; None for none.
        ordinal: Labels can only be the rubric's levels; ends then move to levels.
        reference, condition_labels: Where the right scores come from; see analysis=calibration.
        seed: Another number is another split.
        level: Confidence level of the intervals of the measured coverage.
        coverage_margin: How far below `nominal` the coverage may lie and still keep the promise, in (0, 1).
    """

    name: ClassVar[str] = "conformal"
    nominal: float = 0.9
    fit_share: float = 0.5
    by: str | None = "condition"
    ordinal: bool = False
    reference: str | None = None
    condition_labels: dict[str, float] | None = None
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0
    level: float = 0.95
    coverage_margin: float = 0.05

    def __post_init__(self) -> None:
        shares = {"nominal": self.nominal, "fit_share": self.fit_share, "coverage_margin": self.coverage_margin}
        check_level(self.name, 100, level=self.level, **shares)

    def check(self, judged: Judged) -> None:
        """Raises Unsuited without labels, ConfigError for an unknown `by`, DataError for too many groups."""
        truth = read_truth(self.name, judged, self.reference, self.condition_labels)
        column = self._group(truth.rows)
        if self.by is not None:
            groups = truth.rows[column].dropna().unique()
            check_groups(self.name, column.removeprefix("metadata."), groups, "set analysis.by=null")
        if self.ordinal and not truth.rows["truth"].isin(judged.rubric.levels).all():
            odd = truth.rows[~truth.rows["truth"].isin(judged.rubric.levels)].iloc[0]
            raise DataError(
                f"`analysis.ordinal` is true, but the label of {odd['item_id']!r} is {odd['truth']:g}, which is no "
                f"level of rubric={judged.rubric.name}. Set analysis.ordinal=false."
            )

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; no headline, since every valid method covers alike."""
        self.check(judged)
        truth = read_truth(self.name, judged, self.reference, self.condition_labels)
        rows, needed, tell = truth.judged, conformal.items_needed(self.nominal), Telling(self.name)
        fitting = drawn(units(rows), self.fit_share, self.seed)
        tell.say("parts", fit=int(fitting.sum()), check=int((~fitting).sum()), nominal=self.nominal, needed=needed)
        tell.number(len(rows), "judged")
        tell.number(len(truth.rows) - len(rows), "failed")
        tell.number(needed, "needed")
        table = self._apply(tell, "split", "score", judged, rows, fitting)
        if len(rows) and rows["low"].notna().all() and (rows["low"] <= rows["high"]).all():
            table += self._apply(tell, "ranges", ["low", "high"], judged, rows, fitting)
        if self.by is not None and rows[self._group(rows)].notna().any():
            table += self._apply(tell, "mondrian", "score", judged, rows, fitting)
        overall = {str(row["method"]): row for row in table if row["group"] == "all"}
        split = overall.get("split", {"n": len(rows)})
        more = split["promise"].n_needed or split["n"] + 1 if "promise" in split else None
        asked = {"nominal": self.nominal, "margin": self.coverage_margin, "needed": needed}
        ruling = verdict(CONFORMAL, SimpleNamespace(**split, **asked, more=more, split="split" in overall))
        for name, row in overall.items():
            tell.number(row["inside"], "coverage", name)
            tell.number(row["mean_width"], "width", name)
        if table:
            tell.tables["coverage"] = pd.DataFrame(table)[COLUMNS]
        shown = [row for row in table if row["method"] == "mondrian"] or table
        if len(shown) >= plots.FEWEST:
            data = {end: [row[end] for row in shown] for end in ("low", "high")}
            data |= {"labels": [str(row["group"]) for row in shown], "estimate": [row["coverage"] for row in shown]}
            tell.draw("coverage", "forest", **data, reference=self.nominal, x_label="coverage")
        return [tell.result(*ruling.decided)]

    def _group(self, rows: pd.DataFrame) -> str:
        """The column of `by`."""
        column = "condition" if self.by in (None, "condition") else f"metadata.{self.by}"
        if column not in rows:
            known = sorted(c.removeprefix("metadata.") for c in rows.columns if c.startswith("metadata."))
            raise ConfigError(f"`analysis.by` is {self.by!r}; there are: condition, {', '.join(known)}.")
        return column

    def _apply(
        self, tell: Telling, method: str, widened: str | list[str], judged: Judged, rows: pd.DataFrame, fitting: Flags
    ) -> list[dict[str, Any]]:
        """Rows of the table for one method, first of all texts, then per slice; none with too few texts.

        `widened` are the columns of what is widened (score, or both ends); "mondrian" fits groups apart.
        """
        needed, grouped = conformal.items_needed(self.nominal), method == "mondrian"
        chosen = np.ones(len(rows), dtype=np.bool_)
        if grouped:
            groups = rows[self._group(rows)].astype(object)
            present = groups[fitting].value_counts()
            small = [str(g) for g in groups.dropna().unique() if present.get(g, 0) < needed]
            chosen = groups.notna().to_numpy() & ~groups.astype(str).isin(small).to_numpy()
            if small:
                tell.say("groups_refused", groups=small, needed=needed)
        fit, check = rows[fitting & chosen], rows[~fitting & chosen]
        if len(fit) < needed or check.empty:
            if not grouped:
                tell.say("refused", method=method, present=len(fit), needed=needed, check=len(check))
            return []
        of_fit, of_check = (part[self._group(part)].astype(str).tolist() for part in (fit, check))
        scale = (judged.rubric.minimum, judged.rubric.maximum)
        values, wanted = (part[widened].to_numpy(dtype=np.float64) for part in (fit, check))
        fitted = conformal.fit(
            values, fit["truth"], units(fit), self.nominal, scale=scale, groups=of_fit if grouped else None
        )
        levels = judged.rubric.levels if self.ordinal else None
        given = conformal.intervals(fitted, wanted, groups=of_check if grouped else None, levels=levels)
        slices = of_check if self.by is not None and check[self._group(check)].notna().all() else None
        covered = conformal.coverage(
            fitted, given, check["truth"], units(check), slices, self.coverage_margin, self.level
        )
        alone = None if grouped else next(iter(fitted.reach.values()))
        table = []
        for place, found in enumerate(covered):
            name = found.group if place else "all"  # the first slice is all of them, whatever its name
            row: dict[str, Any] = {"method": method, "group": name, "n": found.inside.n}
            row |= {key: getattr(found, key) for key in ("inside", "promise", "n_fit", "mean_width")}
            row |= dict(zip(("band_low", "band_high"), found.band or (None, None), strict=True))
            row["reach"] = fitted.reach.get(name) if alone is None else alone
            table.append(row | found.inside.row("coverage"))
        return table
