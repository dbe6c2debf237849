"""What is said of a run that did not judge everything."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.analyses.builders import grouped_run, paired_run
from undogmatic.analyses.plan import so_far
from undogmatic.analyses.suite import NoAnalysis
from undogmatic.records.results import AnalysisResult, Finding

Said = Callable[[AnalysisResult], dict[str, Finding]]


def test_a_stopped_run_says_the_mean_of_all(said: Said) -> None:
    scores = np.random.default_rng(1).uniform(0, 100, 60).tolist()
    judged = grouped_run({"a": [*scores, *["budget"] * 20]})
    (result,) = NoAnalysis()(judged, np.random.default_rng(0))
    found = said(result)["none.so_far"].values
    assert (found["n"], found["total"], found["mean"]) == (60, 80, pytest.approx(np.mean(scores)))
    low, high = found["interval"]
    assert low < np.mean(scores) < high
    assert high - low < 25


def test_what_a_continued_run_would_not_mend_is_no_text_to_come() -> None:
    judged = grouped_run({"a": [10.0, 20, "refusal", 30, "timeout"]})
    found = so_far(judged.frame, judged.rubric)
    assert found is not None and (found.estimate.n, found.n_total) == (3, 4)


def test_nothing_is_said_where_all_is_judged_or_the_order_follows_the_scores() -> None:
    whole = grouped_run({"a": [10.0, 20, "refusal"]})
    assert so_far(whole.frame, whole.rubric) is None
    # The second condition is wholly among the texts to come: what was judged says nothing of it.
    first = grouped_run({"a": [10.0, 20, 30], "b": ["budget"] * 3})
    assert so_far(first.frame, first.rubric) is None


def test_a_pair_counts_when_both_its_texts_are_judged() -> None:
    judged = paired_run({"a": [10.0, 20, 30, "budget"], "b": [20.0, 40, "budget", "budget"]})
    found = so_far(judged.frame, judged.rubric)
    assert found is not None
    assert (found.estimate.n, found.n_total, found.estimate.value) == (4, 8, pytest.approx(22.5))
