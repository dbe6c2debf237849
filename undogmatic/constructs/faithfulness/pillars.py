"""Averages several criteria of one text, by one or more judges, into pillars, and the pillars into one number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from undogmatic.analyses.base import DIGITS, LongTable, Unsuited
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.results import Telling
from undogmatic.stats.estimate import Estimate

Missing = Literal["missing", "renormalise"]
Number = TypeVar("Number", float, Estimate)
CASE, SYSTEM, WORDS = "metadata.case", "metadata.system", "metadata.word_count"


class Scores(NamedTuple):
    """Of every item, index `item_id` throughout: `about` has columns case, system, group, words; `pillars` one per
    pillar (NaN where it is missing); `composite` the weighted mean (NaN where it is missing). `voices` has a table per
    pillar with a column per judge. `patched` items got a composite though a judgment was missing."""

    about: pd.DataFrame
    pillars: pd.DataFrame
    composite: pd.Series
    voices: Mapping[str, pd.DataFrame]
    patched: int


@dataclass(frozen=True)
class Pillars:
    """What a composite is made of.

    A judge's score of a pillar is the mean of the pillar's criteria, and the pillar's the mean of its judges.

    Args:
        weights: Pillar -> its weight; they sum to 1.
        criteria: Pillar -> its criteria; those of its own name where none are given.
        judges: Pillar -> the judges that count; without an entry all that give its criteria.
        missing: What a missing judgment makes of a composite: "missing", or "renormalise": the mean of what is there,
            with the weights of the pillars that are.
    """

    weights: Mapping[str, float]
    criteria: Mapping[str, Sequence[str]] = field(default_factory=dict)
    judges: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing: Missing = "missing"

    def __post_init__(self) -> None:
        said = ", ".join(f"{pillar} {weight:g}" for pillar, weight in self.weights.items())
        if not self.weights or any(weight <= 0 for weight in self.weights.values()):
            raise ConfigError(
                f"`weights` are {{{said}}}; every pillar needs a weight above 0 (leave out what has none)."
            )
        if not math.isclose(total := math.fsum(self.weights.values()), 1, abs_tol=1e-9):
            raise ConfigError(f"`weights` sum to {total:g} ({said}); they must sum to 1.")
        for key in ("criteria", "judges"):
            if unknown := sorted(getattr(self, key).keys() - self.weights.keys()):
                raise ConfigError(f"`{key}` names {unknown[0]!r}, which has no weight; weights: {said}.")

    def of(self, pillar: str) -> list[str]:
        """The criteria of a pillar."""
        return list(self.criteria.get(pillar, [pillar]))

    def check(self, analysis: str, judged: LongTable) -> None:
        """Raise Unsuited without systems, DataError or ConfigError where a pillar has no judge."""
        judged.need(analysis, SYSTEM)
        frame = judged.frame
        for pillar in self.weights:
            there = set(frame["criterion"].dropna())
            lacking = [criterion for criterion in self.of(pillar) if criterion not in there]
            if lacking and self.missing == "missing":
                raise Unsuited(
                    f"analysis={analysis} needs the criterion {lacking[0]!r} for the pillar {pillar!r}, and no judge "
                    f"gives it (there are: {', '.join(sorted(there))}). Give weights to other pillars that sum to 1 "
                    "(weights, criteria), or say that what is missing is left out (missing=renormalise)."
                )
            for judge in self.judges.get(pillar, ()):
                if judge not in set(frame["judge"]):
                    options = ", ".join(map(str, frame["judge"].dropna().unique()))
                    raise ConfigError(f"`judges.{pillar}` names {judge!r}; there are: {options}.")

    def scores(self, judged: LongTable, repeat: int = 0) -> Scores:
        """Pillars and composite of every item, from one repeat."""
        frame = judged.frame
        about = _about(frame)
        scored = frame[frame["repeat"] == repeat]
        wide = scored.pivot(index="item_id", columns=["judge", "criterion"], values="score").reindex(about.index)
        voices = {pillar: self._voices(wide, pillar) for pillar in self.weights}
        patch = self.missing == "renormalise"
        pillars = _means({p: own.mean(axis=1, skipna=patch) for p, own in voices.items()}, about.index)
        weights = pd.Series(dict(self.weights), dtype=float)
        there = pillars.notna() * weights
        composite = ((pillars.fillna(0) * weights).sum(axis=1) / there.sum(axis=1)).round(DIGITS)
        whole = pillars.notna().all(axis=1)
        if not patch:
            composite = composite.where(whole)
        gaps = pd.DataFrame({p: own.isna().any(axis=1) | own.empty for p, own in voices.items()}, index=about.index)
        patched = int((gaps.any(axis=1) & composite.notna()).sum())
        return Scores(about, pillars, composite, voices, patched)

    def _voices(self, wide: pd.DataFrame, pillar: str) -> pd.DataFrame:
        """Each judge's score of a pillar, a column per judge; NaN where one of its criteria is missing."""
        criteria, named = self.of(pillar), self.judges.get(pillar)
        judges = list(dict.fromkeys(wide.columns.get_level_values("judge")))
        found = {}
        for judge in judges if named is None else named:
            if all((judge, criterion) in wide.columns for criterion in criteria):
                found[judge] = wide[[(judge, criterion) for criterion in criteria]].mean(axis=1, skipna=False)
        return _means(found, wide.index)

    def by_judge(self, scores: Scores) -> dict[str, Scores]:
        """Pillars and composite with each judge alone, of pillars with several; {} where none has."""
        judges = [judge for own in scores.voices.values() if own.shape[1] > 1 for judge in own.columns]
        found = {}
        for judge in dict.fromkeys(judges):
            own = {p: v[[judge]] if v.shape[1] > 1 and judge in v else v for p, v in scores.voices.items()}
            pillars = _means({p: v.mean(axis=1, skipna=False) for p, v in own.items()}, scores.about.index)
            composite = (pillars * pd.Series(dict(self.weights), dtype=float)).sum(axis=1, skipna=False).round(DIGITS)
            found[str(judge)] = Scores(scores.about, pillars, composite, own, 0)
        return found


def _means(columns: Mapping[Any, pd.Series], index: pd.Index) -> pd.DataFrame:
    """Means as a table, rounded where they are made: (2/5 + 4/5) / 2 shall tie with 3/5."""
    return pd.DataFrame(columns, index=index).round(DIGITS)


def known(number: Number) -> Number | None:
    """None for a number that does not exist for these data, so that a `Telling` leaves it out."""
    value = number.value if isinstance(number, Estimate) else number
    return None if math.isnan(value) else number


def _about(frame: pd.DataFrame) -> pd.DataFrame:
    """Case, system, group and length of every item, in input order."""
    first = frame.drop_duplicates("item_id").set_index("item_id")
    case = first[CASE] if CASE in first else first["pair_id"]
    case = case.where(case.notna(), pd.Series(first.index, index=first.index)).astype(str)
    words = first[WORDS] if WORDS in first else first["words"]
    found = pd.DataFrame({"case": case, "system": first[SYSTEM].astype(str), "group": first["group"], "words": words})
    if (twice := found[found.duplicated(["case", "system"])]).size:
        row = twice.iloc[0]
        both = found.index[(found["case"] == row["case"]) & (found["system"] == row["system"])][:2]
        raise DataError(
            f"the items {', '.join(both)} are both by {row['system']!r} about {row['case']!r}; systems are compared on "
            "one text per case."
        )
    return found


def crossed(about: pd.DataFrame, values: pd.Series) -> pd.DataFrame:
    """Values of items as a table of cases by systems, both in input order; NaN where there is none."""
    table = about.assign(value=values).pivot(index="case", columns="system", values="value")
    return table.reindex(index=about["case"].unique(), columns=about["system"].unique())


def group_of_case(about: pd.DataFrame, cases: pd.Index) -> list[str]:
    """The independent unit of each case."""
    return about.drop_duplicates("case").set_index("case")["group"].reindex(cases).astype(str).tolist()


def draw_heatmap(tell: Telling, name: str, grid: pd.DataFrame, label: str, **more: Any) -> None:
    """Add a table as a picture; its colours run over 0-1 where all numbers lie there."""
    limits = (0.0, 1.0) if grid.max().max() <= 1 else None
    matrix, ends = grid.to_numpy(dtype=float).tolist(), {"rows": grid.index.tolist(), "columns": grid.columns.tolist()}
    tell.draw(name, "heatmap", **({**ends, "matrix": matrix, "label": label, "limits": limits} | more))


def square(pairs: pd.DataFrame, names: Sequence[str], column: str) -> pd.DataFrame:
    """A coefficient of every two, told by the columns left and right, as a matrix with 1 on its diagonal."""
    matrix = pd.DataFrame(np.eye(len(names)), index=list(names), columns=list(names))
    for row in pairs.to_dict("records"):
        matrix.loc[row["left"], row["right"]] = matrix.loc[row["right"], row["left"]] = row[column]
    return matrix
