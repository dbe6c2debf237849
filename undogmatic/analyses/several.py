"""Several analyses of one run, as `analysis=[labelled,calibration]` names them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from undogmatic.analyses.base import Analysis, Judged
from undogmatic.analyses.suite import SuiteAnalysis, run_each
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult


class SeveralAnalyses:
    """Runs each analysis named, in this order; the first with a headline gives the run its headline.

    Unlike `analysis=suite` it leaves none out: what the dataset does not suit is refused, since it was asked for.

    Args:
        analyses: The analyses by name; each can be set as if it were run alone (`analysis.labelled.level=0.9`).
    """

    name: ClassVar[str] = "several"

    def __init__(self, **analyses: Analysis) -> None:
        self.analyses = list(analyses.values())
        self.reads_words = any(getattr(a, "reads_words", False) for a in self.analyses)
        suite = {name for a in self.analyses if isinstance(a, SuiteAnalysis) for name in a.parts}
        twice = sorted(suite & {a.name for a in self.analyses})
        if twice:
            raise ConfigError(f"`analysis` names suite, which includes {', '.join(twice)}: leave one of the two out.")

    def check(self, judged: Judged) -> None:
        """Raises what the first analysis raises that cannot read the dataset."""
        for analysis in self.analyses:
            analysis.check(judged)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """The results of each, with the numbers of a run with it alone."""
        return run_each(self.analyses, judged, rng)
