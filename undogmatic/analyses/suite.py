"""All that the dataset allows: paired experiment, controls, attacks, gold labels, or a description; and the costs."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from undogmatic.analyses.ab import AbAnalysis
from undogmatic.analyses.adversarial import AdversarialAnalysis
from undogmatic.analyses.base import Analysis, AnalysisResult, Finding, Judged, Unsuited, analyse
from undogmatic.analyses.controls import ControlsAnalysis
from undogmatic.analyses.costs import CostsAnalysis
from undogmatic.analyses.labelled import LabelledAnalysis
from undogmatic.analyses.none import NoAnalysis


@dataclass(frozen=True)
class SuiteAnalysis:
    """Runs each analysis whose conditions the dataset has, and says which were left out and why; costs come last.

    A dataset that suits none of them, such as a plain list of texts, is described as by `analysis=none`.

    Args:
        ab, controls, adversarial, labelled, costs: The analyses; each can be set as if it were run alone
            (`analysis.ab.alpha=0.01`).
    """

    name: ClassVar[str] = "suite"
    ab: AbAnalysis
    controls: ControlsAnalysis
    adversarial: AdversarialAnalysis
    labelled: LabelledAnalysis
    costs: CostsAnalysis

    def check(self, judged: Judged) -> None:
        """Any dataset will do; raises DataError where one has what an analysis reads, but damaged."""
        self._divide(judged)
        self.costs.check(judged)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """The suite's own result (what was run, what left out), then one per analysis, then the costs."""
        runnable, left_out = self._divide(judged)
        if not runnable:
            runnable = [NoAnalysis()]
        findings = [Finding("suite.left_out", {"analysis": name, "reason": why}) for name, why in left_out.items()]
        findings.insert(0, Finding("suite.run", {"analyses": [a.name for a in runnable]}))
        own = AnalysisResult(
            self.name,
            {"suite.run": len(self._all()) - len(left_out), "suite.left_out": len(left_out)},
            findings=findings,
        )
        # Each starts from the same state, so that its intervals are those of a run with this analysis alone.
        return [own, *(result for a in [*runnable, self.costs] for result in analyse(a, judged, copy.deepcopy(rng)))]

    def _all(self) -> list[Analysis]:
        return [self.ab, self.controls, self.adversarial, self.labelled]

    def _divide(self, judged: Judged) -> tuple[list[Analysis], dict[str, str]]:
        runnable, left_out = [], {}
        for analysis in self._all():
            try:
                analysis.check(judged)
            except Unsuited as error:
                left_out[analysis.name] = str(error)
            else:
                runnable.append(analysis)
        return runnable, left_out
