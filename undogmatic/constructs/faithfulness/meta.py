"""Runs the composite and every analysis that says whether its ranking and its judges deserve belief."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from undogmatic.analyses.base import Analysis, LongTable
from undogmatic.analyses.suite import divided, run_each
from undogmatic.constructs.faithfulness.composite import CompositeAnalysis
from undogmatic.constructs.faithfulness.correlations import (
    AgreementAnalysis,
    BaselinesAnalysis,
    ConsistencyAnalysis,
    CorrelationsAnalysis,
    LengthBiasAnalysis,
)
from undogmatic.constructs.faithfulness.taxonomy import TaxonomyAnalysis
from undogmatic.records.results import AnalysisResult, Telling


@dataclass(frozen=True)
class MetaAnalysis:
    """Runs the composite and every analysis of it that the run has the conditions for; says which were left out.

    Args:
        composite, agreement, pillars, baselines, length_bias, consistency, taxonomy: The analyses; each can be set as
            if it were run alone, and all read the one composite (`analysis.composite.weights`).
    """

    name: ClassVar[str] = "meta"
    long: ClassVar[bool] = True
    composite: CompositeAnalysis
    agreement: AgreementAnalysis
    pillars: CorrelationsAnalysis
    baselines: BaselinesAnalysis
    length_bias: LengthBiasAnalysis
    consistency: ConsistencyAnalysis
    taxonomy: TaxonomyAnalysis

    def check(self, judged: LongTable) -> None:
        """Raises Unsuited where there is no composite, and what is wrong with a dataset otherwise."""
        self.composite.check(judged)
        divided(self._further(), judged)

    def __call__(self, judged: LongTable, rng: np.random.Generator) -> list[AnalysisResult]:
        """The composite, then what is asked of it, then what was left out and why."""
        runnable, left_out = divided(self._further(), judged)
        tell = Telling(self.name)
        tell.say("run", analyses=[analysis.name for analysis in runnable])
        for name, why in left_out.items():
            tell.say("left_out", analysis=name, reason=why)
        tell.number(len(left_out), "left_out")
        return [*run_each([self.composite, *runnable], judged, rng), tell.result()]

    def _further(self) -> list[Analysis]:
        return [self.agreement, self.pillars, self.baselines, self.length_bias, self.consistency, self.taxonomy]
