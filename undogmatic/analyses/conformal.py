"""Intervals with a stated coverage, fitted on one part of the labelled texts and verified on the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, NamedTuple

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
from undogmatic.records.results import AnalysisResult, FigureData, Finding
from undogmatic.stats import conformal

COLUMNS = ["method", "group", "n_fit", "n", "coverage", "low", "high", "band_low", "band_high", "mean_width", "reach"]


class Method(NamedTuple):
    """One way to make intervals: `column`s of what is widened, and whether groups are fitted apart."""

    name: str
    columns: tuple[str, ...]
    grouped: bool


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
        rows = truth.judged
        fitting = drawn(units(rows), self.fit_share, self.seed)
        needed = conformal.items_needed(self.nominal)
        findings = [
            Finding(
                "conformal.parts",
                {"fit": int(fitting.sum()), "check": int((~fitting).sum()), "nominal": self.nominal, "needed": needed},
            )
        ]
        metrics: dict[str, float] = {
            "conformal.judged": len(rows),
            "conformal.failed": len(truth.rows) - len(rows),
            "conformal.needed": needed,
        }
        table = []
        for method in self._methods(rows):
            said, found = self._apply(method, judged, rows, fitting, needed)
            findings += said
            table += found
        overall = {str(row["method"]): row for row in table if row["group"] == "all"}
        split = overall.get("split", {"n": len(rows)})
        more = split["promise"].n_needed or split["n"] + 1 if "promise" in split else None
        asked = {
            "more": more,
            "split": "split" in overall,
            "nominal": self.nominal,
            "margin": self.coverage_margin,
            "needed": needed,
        }
        ruling = verdict(CONFORMAL, SimpleNamespace(**split, **asked))
        for name, row in overall.items():
            metrics |= plots.interval(f"conformal.coverage.{name}", row["coverage"], row["low"], row["high"])
            metrics[f"conformal.width.{name}"] = row["mean_width"]
        return [
            AnalysisResult(
                self.name,
                metrics,
                {"coverage": pd.DataFrame(table)[COLUMNS]} if table else {},
                findings,
                self._figure(table),
                ruling.finding,
                ruling.standing,
            )
        ]

    def _methods(self, rows: pd.DataFrame) -> list[Method]:
        methods = [Method("split", ("score",), False)]
        if len(rows) and rows["low"].notna().all() and (rows["low"] <= rows["high"]).all():
            methods.append(Method("ranges", ("low", "high"), False))
        if self.by is not None and rows[self._group(rows)].notna().any():
            methods.append(Method("mondrian", ("score",), True))
        return methods

    def _group(self, rows: pd.DataFrame) -> str:
        """The column of `by`."""
        column = "condition" if self.by in (None, "condition") else f"metadata.{self.by}"
        if column not in rows:
            known = sorted(c.removeprefix("metadata.") for c in rows.columns if c.startswith("metadata."))
            raise ConfigError(f"`analysis.by` is {self.by!r}; there are: condition, {', '.join(known)}.")
        return column

    def _apply(
        self, method: Method, judged: Judged, rows: pd.DataFrame, fitting: NDArray[np.bool_], needed: int
    ) -> tuple[list[Finding], list[dict[str, Any]]]:
        findings = []
        chosen = np.ones(len(rows), dtype=np.bool_)
        if method.grouped:
            groups = rows[self._group(rows)].astype(object)
            present = groups[fitting].value_counts()
            small = {str(g): int(present.get(g, 0)) for g in groups.dropna().unique() if present.get(g, 0) < needed}
            chosen = groups.notna().to_numpy() & ~groups.astype(str).isin(small.keys()).to_numpy()
            if small:
                findings.append(Finding("conformal.groups_refused", {"groups": list(small), "needed": needed}))
        fit, check = rows[fitting & chosen], rows[~fitting & chosen]
        if len(fit) < needed or check.empty:
            if not method.grouped:
                values = {"method": method.name, "present": len(fit), "needed": needed, "check": len(check)}
                findings.append(Finding("conformal.refused", values))
            return findings, []
        scale = (judged.rubric.minimum, judged.rubric.maximum)
        own = self._names(fit) if method.grouped else None
        fitted = conformal.fit(_values(fit, method), fit["truth"], units(fit), self.nominal, scale=scale, groups=own)
        given = conformal.intervals(
            fitted,
            _values(check, method),
            groups=self._names(check) if method.grouped else None,
            levels=judged.rubric.levels if self.ordinal else None,
        )
        slices = self._names(check) if self.by is not None and check[self._group(check)].notna().all() else None
        covered = conformal.coverage(
            fitted, given, check["truth"], units(check), slices, self.coverage_margin, self.level
        )
        # The first slice is all of them, whatever its name.
        named = ["all", *(found.group for found in covered[1:])]
        alone = None if method.grouped else next(iter(fitted.reach.values()))
        return findings, [
            _row(method.name, name, found, fitted.reach.get(name) if alone is None else alone)
            for name, found in zip(named, covered, strict=True)
        ]

    def _names(self, rows: pd.DataFrame) -> list[str]:
        return rows[self._group(rows)].astype(str).tolist()

    def _figure(self, table: Sequence[Mapping[str, Any]]) -> list[FigureData]:
        shown = [row for row in table if row["method"] == "mondrian"] or list(table)
        if len(shown) < plots.FEWEST:
            return []
        data = {"labels": [str(row["group"]) for row in shown], "estimate": [row["coverage"] for row in shown]}
        data |= {end: [row[end] for row in shown] for end in ("low", "high")}
        return [FigureData("coverage", "forest", data | {"reference": self.nominal, "x_label": "coverage"})]


def _values(rows: pd.DataFrame, method: Method) -> NDArray[np.float64]:
    values = rows[list(method.columns)].to_numpy(dtype=np.float64)
    return values[:, 0] if len(method.columns) == 1 else values


def _row(method: str, group: str, found: conformal.Coverage, reach: float | None) -> dict[str, Any]:
    inside = found.inside
    cells = (method, group, found.n_fit, inside.n, inside.value, inside.low, inside.high)
    rest = (*(found.band or (None, None)), found.mean_width, reach)
    return dict(zip(COLUMNS, cells + rest, strict=True)) | {"promise": found.promise}
