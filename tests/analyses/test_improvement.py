"""The verdict on an optimised program: what counts as better, what does not, and what cannot be told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike, NDArray

from benchmarks.improvement import announced, earned
from undogmatic.analyses.improvement import AFTER, BEFORE, Measured, improvement, level_of
from undogmatic.analyses.truth import Margin
from undogmatic.records.results import AnalysisResult
from undogmatic.report.words import Words

Array = NDArray[np.float64]
COSTS = pd.DataFrame([{"cost": "calls", BEFORE: 1.0, AFTER: 2.0}])
NONE = Margin(0.0, "default", 100.0)


SHARE, RANKS = (0.0, 1.0), (0.0, 100.0)


def compared(
    before: ArrayLike,
    after: ArrayLike,
    ends: tuple[float, float] = (-100.0, 100.0),
    label: ArrayLike | None = None,
    margin: Margin = NONE,
    draw: np.random.Generator | None = None,
    copies: int = 1,
    falls: bool = False,
    **settings: Any,
) -> AnalysisResult:
    """The verdict on values of one group each; with labels of a metric that ranks."""
    sides = pd.DataFrame({BEFORE: before, AFTER: after} | ({} if label is None else {"label": label}))
    rows = pd.concat([sides.assign(group=np.arange(len(sides)).astype(str))] * copies, ignore_index=True)
    found = Measured("metric", rows, label is not None, falls, ends, margin, COSTS)
    return improvement(found, draw or np.random.default_rng(1), **settings)


def programs(gain: float, n: int = 60, seed: int = 0) -> tuple[Array, Array]:
    """What two programs earn, with differences of a spread of 10."""
    draw = np.random.default_rng(seed)
    before = draw.uniform(-20, 20, n)
    return before, before + gain + draw.normal(0, 10, n)


def verdict(gain: float, n: int = 60, lost: int = 0, **settings: Any) -> AnalysisResult:
    """On such programs, the second of which failed on so many texts."""
    before, after = programs(gain, n)
    after[:lost] = np.nan
    return compared(before, after, **settings)


def key(result: AnalysisResult) -> str:
    assert result.verdict is not None
    return result.verdict.key.rpartition("_")[2]


SMALL = Margin(10.0, "rubric", 100.0)


@pytest.mark.parametrize(
    ("settings", "expected", "standing"),
    [
        ({"gain": 8}, "better", "supported"),
        ({"gain": -8}, "worse", "refuted"),
        ({"gain": 0}, "open", "undecided"),
        ({"gain": 8, "margin": SMALL}, "open", "undecided"),
        ({"gain": 15, "margin": SMALL}, "better", "supported"),
        ({"gain": 0, "n": 200, "margin": SMALL}, "within", "refuted"),
        ({"gain": 0, "n": 200, "margin": SMALL._replace(source="default")}, "open", "undecided"),  # nobody set it
        ({"gain": 25, "lost": 1}, "better", "supported"),
        ({"gain": 25, "lost": 15}, "missing", "undecided"),  # failures that could turn it withhold it
        ({"gain": 8, "lost": 56}, "few", "undecided"),
    ],
)
def test_verdicts(settings: dict[str, Any], expected: str, standing: str) -> None:
    result = verdict(**settings)
    assert (key(result), result.standing) == (expected, standing)


def test_swapping_the_programs_mirrors_the_verdict() -> None:
    one = verdict(6)
    rows = one.metrics
    assert rows["improvement.gain_low"] < rows["improvement.gain"] < rows["improvement.gain_high"]
    other = compared(*programs(6)[::-1]).metrics
    assert other["improvement.gain_low"] == pytest.approx(-rows["improvement.gain_high"])
    assert other["improvement.p"] == pytest.approx(rows["improvement.p"])


def test_however_many_look_no_program_without_merit_is_called_better_beyond_the_level() -> None:
    """Twenty programs that are no better, on the same 40 test groups, in 200 trials: any of them is called better in
    at most 5 % (10 trials; more than 16 happen by chance in 3 % of such tests if it were so often)."""
    fooled = 0
    for seed in range(200):
        draw = np.random.default_rng(seed)
        before = draw.normal(0, 10, 40)
        for look in range(1, 21):
            if key(compared(before, before + draw.normal(0, 10, 40), draw=draw, looks=look)) == "better":
                fooled += 1
                break
    assert fooled <= 16


def test_a_level_below_what_few_exchanges_reach_can_still_be_shown() -> None:
    draw = np.random.default_rng(0)
    label = draw.uniform(0, 100, 60)
    assert key(compared(draw.normal(size=60), label, RANKS, label, draw=draw, looks=12)) == "better"
    assert level_of(0.05, 12) < 1 / 2001


def test_a_small_p_value_of_a_later_look_is_told_why_it_is_no_evidence() -> None:
    first, later = (verdict(2.6, looks=looks) for looks in (1, 12))
    assert (key(first), key(later)) == ("better", "open")
    assert later.metrics["improvement.p"] < 0.05
    said = Words("en", later.texts).say(later.verdict)
    assert "look number 12" in said and "it is 0.0003788 here instead of 0.05" in said
    assert "look number" not in Words("en", first.texts).say(first.verdict)


def test_the_levels_of_all_looks_sum_to_twice_the_first() -> None:
    levels = [level_of(0.05, k) for k in range(1, 10_001)]
    assert levels[:3] == [0.05, 0.025, pytest.approx(0.05 / 6)]
    assert 0.0999 < sum(levels) < 0.1


def test_further_looks_share_the_level() -> None:
    widths = [verdict(4, looks=looks).metrics for looks in (1, 5)]
    reach = [m["improvement.gain_high"] - m["improvement.gain_low"] for m in widths]
    assert reach[1] > 1.2 * reach[0]
    assert key(verdict(3.2, looks=1)) == "better"
    assert key(verdict(3.2, looks=40)) == "open"


def test_copies_are_no_evidence() -> None:
    once, thrice = verdict(4, n=12), verdict(4, n=12, copies=3)
    assert thrice.metrics["improvement.n_groups"] == 12
    assert thrice.metrics["improvement.gain_low"] == pytest.approx(once.metrics["improvement.gain_low"], rel=0.02)


def test_the_same_answers_are_no_evidence() -> None:
    assert key(compared(np.arange(8.0), np.arange(8.0), (-100.0, 0.0), falls=True)) == "identical"


@pytest.mark.parametrize(("after", "expected"), [(0.0, "identical"), (1.0, "better")])
def test_shares_that_are_the_same_in_every_pair_have_a_verdict(after: float, expected: str) -> None:
    """A search that leaves the program as it was is the usual end of one that found nothing."""
    result = compared(np.zeros(46), np.full(46, after), SHARE)
    assert key(result) == expected
    low, high = (result.metrics[f"improvement.gain_{end}"] for end in ("low", "high"))
    assert low <= after <= high and high - low > 0.05


def test_a_metric_that_ranks_is_compared_by_its_ranks() -> None:
    draw = np.random.default_rng(3)
    label = draw.uniform(0, 100, 80)
    noise, sharp = draw.uniform(0, 100, 80), label / 10 + draw.normal(0, 1, 80)  # squeezed, but in order
    result = compared(noise, sharp, RANKS, label)
    assert key(result) == "better"
    assert result.metrics["improvement.after"] > 0.85
    assert result.metrics["improvement.before"] < 0.65
    assert key(compared(noise, draw.uniform(0, 100, 80), RANKS, label)) == "open"


@pytest.mark.parametrize("language", ["en", "pt"])
def test_every_verdict_has_words_that_begin_with_how_it_stands(language: str) -> None:
    begins = {"supported": ("Supported", "Confirmado"), "refuted": ("Not supported", "Não confirmado")}
    begins |= {"undecided": ("Undecided", "Em aberto")}
    cases = [verdict(8), verdict(-8), verdict(0), verdict(8, lost=15), verdict(8, lost=56), verdict(8, looks=3)]
    for result in [*cases, verdict(0, n=200, margin=SMALL)]:
        words = Words(language, result.texts, strict=True)
        assert result.verdict is not None
        assert result.standing is not None
        assert words.say(result.verdict).startswith(begins[result.standing][language == "pt"] + ":")
        assert all(words.say(finding) for finding in result.findings)


def test_the_gain_of_a_share_that_would_be_found_allows_for_its_smaller_spread() -> None:
    """Of 40 % turned pairs none can gain more than all of them, however few there are and however much is asked."""
    for n in (20, 46, 400):
        turned = np.where(np.arange(n) % 5 < 2, np.arange(n) % 2, -1)
        before, after = (0.5 * (turned < 0) + (turned == side) for side in (0, 1))
        metrics = compared(before, after, SHARE, margin=Margin(0.0, "default", 1.0), target=0.999).metrics
        spread = (metrics["improvement.gain_high"] - metrics["improvement.gain_low"]) / 2
        assert spread < metrics["improvement.detectable"] < 0.4**0.5
    assert metrics["improvement.detectable"] < 0.2


@pytest.mark.parametrize("metric", ["auc", "rank_correlation"])
def test_the_gain_of_ranks_that_would_be_found_is_found_as_often_and_none_without_merit(metric: str) -> None:
    """A few of each kind; `python -m benchmarks.improvement` makes a thousand."""
    effect = announced(metric, 46, 0.8, 10)
    found = [
        [key(improvement(earned(metric, 46, true, draw), draw)) for draw in map(np.random.default_rng, range(20))]
        for true in (0.0, effect)
    ]
    assert found[0].count("better") <= 1
    assert found[1].count("better") >= 13


def test_no_gain_is_announced_that_cannot_be() -> None:
    """Where nearly all pairs are in order before, too little is left to gain."""
    before = np.where(np.arange(46) == 0, 0.0, 1.0)
    result = compared(before, before[::-1], SHARE)
    assert key(result) == "blind"
    assert "improvement.detectable" not in result.metrics


def test_ranks_that_do_not_move_or_hang_on_one_group_have_a_verdict() -> None:
    label = np.arange(46) % 2 * 1.0
    scores = np.random.default_rng(0).normal(size=46)
    alone = np.where(np.arange(46) == 7, 1.0, 0.0)  # without its group there is but one label
    for labels, after, expected in (
        (label, scores, "identical"), (label, scores + 1, "open"), (alone, -scores, "blind"), (label, label, "better"),
    ):  # fmt: skip
        result = compared(scores, after, (-9.0, 9.0), labels)
        assert key(result) == expected
        assert np.isfinite([*result.metrics.values()]).all()
