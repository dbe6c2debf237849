"""Asks of a ranking by judges all that its run has the conditions for."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from undogmatic.constructs.faithfulness.composite import CompositeAnalysis
from undogmatic.constructs.faithfulness.correlations import (
    AgreementAnalysis,
    BaselinesAnalysis,
    ConsistencyAnalysis,
    CorrelationsAnalysis,
    LengthBiasAnalysis,
)
from undogmatic.constructs.faithfulness.pairwise import PairwiseAccuracyAnalysis
from undogmatic.constructs.faithfulness.taxonomy import TaxonomyAnalysis
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.suite import divided, run_each
from undogmatic.records.results import Told


@dataclass(frozen=True)
class MetaAnalysis:
    """Runs the composite and every analysis of it that the run has the conditions for; says which
    were left out. Each can be set as if it were run alone, and all read the one composite
    (`analysis.composite.weights`).
    """

    name: ClassVar[str] = "meta"
    long: ClassVar[bool] = True
    composite: CompositeAnalysis
    pairwise_accuracy: PairwiseAccuracyAnalysis
    agreement: AgreementAnalysis
    pillars: CorrelationsAnalysis
    baselines: BaselinesAnalysis
    length_bias: LengthBiasAnalysis
    consistency: ConsistencyAnalysis
    taxonomy: TaxonomyAnalysis

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited where there is no composite, and what is wrong with a dataset
        otherwise."""
        self.composite.check(judged)
        divided([*vars(self).values()], judged)

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """The composite, then what is asked of it, then what was left out and why."""
        _, *further = vars(self).values()
        runnable, left_out = divided(further, judged)
        tell = Told(self.name)
        tell.say("run", analyses=[analysis.name for analysis in runnable])
        for name, why in left_out.items():
            tell.say("left_out", analysis=name, reason=why)
        tell.number(len(left_out), "left_out", unit="count")
        return [*run_each([self.composite, *runnable], judged, rng), tell.result()]
