"""All that the dataset allows: paired experiment, controls, attacks, gold labels, or a description; and the costs."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from undogmatic.analyses.ab import AbAnalysis
from undogmatic.analyses.adversarial import AdversarialAnalysis
from undogmatic.analyses.base import Analysis, Judged, Unsuited, analyse
from undogmatic.analyses.controls import ControlsAnalysis
from undogmatic.analyses.costs import CostsAnalysis
from undogmatic.analyses.labelled import LabelledAnalysis
from undogmatic.analyses.none import NoAnalysis
from undogmatic.records.results import AnalysisResult, Finding


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
        divided(self._all(), judged)
        self.costs.check(judged)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """The suite's own result (what was run, what left out), then one per analysis, then the costs."""
        runnable, left_out = divided(self._all(), judged)
        if not runnable:
            runnable = [NoAnalysis()]
        findings = [Finding("suite.left_out", {"analysis": name, "reason": why}) for name, why in left_out.items()]
        findings.insert(0, Finding("suite.run", {"analyses": [a.name for a in runnable]}))
        own = AnalysisResult(
            self.name,
            {"suite.run": len(self._all()) - len(left_out), "suite.left_out": len(left_out)},
            findings=findings,
        )
        return [own, *run_each([*runnable, self.costs], judged, rng)]

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the analyses it may run."""
        return (*(analysis.name for analysis in self._all()), self.costs.name, NoAnalysis.name)

    def _all(self) -> list[Analysis]:
        return [self.ab, self.controls, self.adversarial, self.labelled]


def divided(analyses: Sequence[Analysis], judged: Judged) -> tuple[list[Analysis], dict[str, str]]:
    """Those that these data suit, and by name why the others are left out."""
    runnable, left_out = [], {}
    for analysis in analyses:
        try:
            analysis.check(judged)
        except Unsuited as error:
            left_out[analysis.name] = str(error)
        else:
            runnable.append(analysis)
    return runnable, left_out


def run_each(analyses: Sequence[Analysis], judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
    """The results of all. Each starts from the same state, so that its intervals are those of a run with it alone."""
    return [result for analysis in analyses for result in analyse(analysis, judged, copy.deepcopy(rng))]
