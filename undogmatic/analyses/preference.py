"""Checks the choices of `judge=compare` like verdicts made elsewhere: agreement, place, ranking of
systems."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from undogmatic.analyses.base import Limited, LongTable, Share, Unsuited
from undogmatic.analyses.check import check
from undogmatic.records.checked import LEAST_AGREEMENT, CheckOptions
from undogmatic.records.evidence import (
    AS_GIVEN,
    FIRST,
    LABEL_COLUMNS,
    SECOND,
    SWAPPED,
    TIE,
    Evidence,
)
from undogmatic.records.records import OVERALL
from undogmatic.records.results import Told

PLACES = {"first": 0.0, "second": 1.0, "tie": 2.0}
PARTS = ("check", "kinds", "surface", "people", "systems", "judges")


@dataclass(frozen=True)
class PreferenceAnalysis(Limited):
    """Reads both orders of every choice. Systems are the items' metadata `system_1` and `system_2`.

    Args:
        least, margin, level: See `CheckOptions`.
    """

    name: ClassVar[str] = "preference"
    long: ClassVar[bool] = True
    least: Annotated[float, Field(ge=0, lt=1)] = LEAST_AGREEMENT
    margin: Annotated[float, Field(gt=0)] | None = None
    level: Share = 0.95

    def check(self, judged: LongTable) -> None:
        """Raises Unsuited for a run without choices of two outputs in a known order."""
        if AS_GIVEN not in set(judged.frame["criterion"]):
            raise Unsuited(
                "analysis=preference reads choices of two outputs in a known order, which"
                " judge=compare makes. Choose judge=compare rubric=preference, or another"
                " `analysis=`."
            )

    def __call__(self, judged: LongTable, rng: np.random.Generator) -> list[Told]:
        """One result per judge; headline `preference.agreement.pairwise_kappa` where there are
        labels."""
        self.check(judged)
        seed = int(rng.integers(2**31))
        options = CheckOptions(least=self.least, margin=self.margin, level=self.level, seed=seed)
        result = check(evidence_of(judged), options)
        several = len(result.judges) > 1
        results = []
        for each in result.judges:
            tell = Told(self.name)
            for name, figure in each.numbers.items():
                tell.number(figure, name)
            tell.findings += [each.rival, *each.ordered()]
            lacking = each.not_examined.values()
            tell.findings += [
                finding for n, finding in enumerate(lacking) if finding not in list(lacking)[:n]
            ]
            tell.tables |= each.tables
            tell.columns |= each.columns
            head = "preference.agreement.pairwise_kappa"
            headline = head if head in tell.metrics else None
            part = each.judge if several else ""
            texts = [Path(__file__).with_name(f"{name}.texts.yaml") for name in (self.name, *PARTS)]
            results.append(
                tell.result(each.verdict, each.standing, headline=headline, part=part, texts=texts)
            )
        return results


def evidence_of(judged: LongTable) -> Evidence:
    """The choices of a run in both orders, in the given numbering, beside the labels of people."""
    rows = judged.frame[judged.frame["criterion"].isin((AS_GIVEN, SWAPPED))]
    verdicts = pd.DataFrame(
        {
            "item": rows["item_id"],
            "judge": rows["judge"],
            "criterion": OVERALL,
            "repeat": rows["repeat"],
            "order": rows["criterion"],
            "verdict": rows["category"].map(PLACES).astype(float),
            "confidence": rows["confidence"],
            "reason": rows["error"],
            "place": rows["place"],
        }
    ).reset_index(drop=True)
    scale = judged.rubric.scale
    said = [
        (item, OVERALL, rater, PLACES[scale.write(float(label))])
        for item, criteria in judged.said.items()
        for rater, label in criteria.get(OVERALL, {}).items()
    ]
    first = judged.frame.drop_duplicates("item_id").set_index("item_id")
    texts = {
        f"text_{n}": [judged.inputs[item].get(f"output_{n}") for item in first.index]
        for n in (1, 2)
    }
    systems = {
        f"system_{n}": first[f"metadata.system_{n}"]
        for n in (1, 2)
        if f"metadata.system_{n}" in first
    }
    items = pd.DataFrame(
        {"group": first["group"].astype(str), **texts, **systems}, index=first.index.rename("item")
    )
    ties = (TIE,) if TIE in getattr(scale, "categories", ()) else ()
    labels = pd.DataFrame(said, columns=list(LABEL_COLUMNS))
    return Evidence("pairwise", verdicts, labels, items, categories=(FIRST, SECOND, *ties))
