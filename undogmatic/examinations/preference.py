"""Asks of the choices of `judge=compare` what a check asks: agreement, place, ranking of
systems."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from undogmatic.examinations import of_run
from undogmatic.examinations.base import Limited, Share, Unsuited
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.records.checked import LEAST_AGREEMENT, CheckOptions
from undogmatic.records.results import Told


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

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited for a run without choices of two outputs in a known order."""
        if judged.kind != "pairwise":
            raise Unsuited(
                "analysis=preference reads choices of two outputs in a known order, which"
                " judge=compare makes. Choose judge=compare rubric=preference, or another"
                " `analysis=`."
            )

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result per judge; headline `preference.agreement.pairwise_kappa` where there are
        labels."""
        self.check(judged)
        options = CheckOptions(least=self.least, margin=self.margin, level=self.level)
        return of_run.answers(self.name, judged, options)
