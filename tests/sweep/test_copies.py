"""Copies of a job change nothing in a sweep; letters say exactly what their caption says."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweep.builders import doubting, keys, metrics, result_of, scored, write_job
from undogmatic.runs.outcome import SweepResult
from undogmatic.stats.compare import COLUMNS
from undogmatic.sweep.compare import worth
from undogmatic.sweep.family import ALPHA, BETTER, FOLLOWING
from undogmatic.sweep.jobs import Job

ARMS = list("ABCDEF")
PAIRS = list(combinations(ARMS, 2))
P = st.one_of(st.just(float("nan")), st.sampled_from([0.001, 0.049, ALPHA, 0.2, 1.0]))


def swept(folder: Path, arms: str) -> SweepResult:
    """A sweep whose arms differ by letter; a letter named again is a copy, which took another time."""
    for n, arm in enumerate(arms):
        seed = ord(arm)
        facts = {"metrics": metrics(0.5) | {"calibration.judged": 24.0, "calibration.review_gain": 0.1 * n}}
        frame = scored(60 + seed % 3 * 10, 40, seed=seed, labels=True)
        seconds = np.random.default_rng(n).uniform(1, 2 + n, len(frame))
        write_job(folder / str(n), [f"arm={arm}", f"seed={n}"], frame.assign(seconds=seconds), **facts)
        doubting(seed, informed=False).to_csv(folder / str(n) / "items_calibration.csv", index=False)
    return result_of(folder)


def test_a_copy_gets_the_intervals_of_its_twin_and_changes_nobody_elses(tmp_path: Path) -> None:
    plain, copied = swept(tmp_path / "plain", "abc"), swept(tmp_path / "copied", "abacc")
    of = {f"{arm}, seed={n}": arm for arm, n in zip("abcacc", (0, 1, 2, 2, 3, 4), strict=True)}
    expected, found = (_by_pair(result.comparisons, of) for result in (plain, copied))
    assert {measure for measure, *_ in expected} == {*BETTER} - {"ece", *FOLLOWING}
    assert found.keys() == expected.keys()
    for key, several in found.items():
        assert len(set(several)) == 1, key
        assert several[0] == pytest.approx(expected[key][0], abs=1e-12), key
    copied_pair = [of[row.left] == of[row.right] for row in copied.comparisons.itertuples()]
    assert copied.comparisons.loc[copied_pair, "p"].isna().all()
    assert plain.comparisons["p_holm"].astype(float).min() < 0.05
    sizes = [next(f for f in result.findings if f.key == "sweep.family").values["n"] for result in (plain, copied)]
    assert sizes[0] == sizes[1] == 3 * len({measure for measure, *_ in expected})
    alphas = [next(f for f in result.findings if f.key.startswith("sweep.alpha")) for result in (plain, copied)]
    assert alphas[0] == alphas[1]


def _by_pair(table: pd.DataFrame, of: dict[str, str]) -> dict[tuple[str, str, str], list[tuple[float, ...]]]:
    """Measure and two arms -> difference, interval and p-values of each row, as first minus second in order of name."""
    found: dict[tuple[str, str, str], list[tuple[float, ...]]] = {}
    for row in table.itertuples():
        one, other = of[row.left], of[row.right]
        if one == other:
            continue
        ends = (row.difference, row.low, row.high) if one < other else (-row.difference, -row.high, -row.low)
        numbers = (*ends, row.p, row.p_holm)
        rounded = tuple(round(float("nan") if v is None else float(v), 9) for v in numbers)
        found.setdefault((row.measure, min(one, other), max(one, other)), []).append(rounded)
    return {key: [tuple(-1 if np.isnan(v) else v for v in row) for row in rows] for key, rows in found.items()}


def test_copies_of_one_job_have_no_overall_agreement(tmp_path: Path) -> None:
    assert not any(key.startswith("sweep.alpha") for key in keys(swept(tmp_path, "aa")))


@settings(deadline=None)
@given(st.fixed_dictionaries(dict.fromkeys(PAIRS, P)), st.permutations(ARMS))
def test_two_jobs_share_a_letter_exactly_if_their_test_was_not_significant(
    p: dict[tuple[str, str], float], order: list[str]
) -> None:
    groups = _groups(p, order)
    for (one, other), value in p.items():
        assert bool(set(groups[one]) & set(groups[other])) == (not value < ALPHA)
    assert "a" in groups[order[0]]


def test_jobs_that_were_not_all_compared_get_no_letters() -> None:
    assert _groups(dict.fromkeys(PAIRS[1:], 0.2), ARMS) is None


def _groups(p: dict[tuple[str, str], float], order: list[str]) -> dict[str, str] | None:
    """The letters of review gain, the best first in `order`."""
    rows = [dict.fromkeys(COLUMNS, 0.0) | {"left": a, "right": b, "p_holm": v} for (a, b), v in p.items()]
    tests = pd.DataFrame(rows).assign(measure="review_gain")
    assert BETTER["review_gain"] == 1
    jobs = {}
    for place, name in enumerate(order):
        told = {"calibration.judged": 24.0, "calibration.review_gain": -float(place)}
        jobs[name] = Job(place, {}, {}, {}, told, pd.DataFrame(), "finished")
    table = worth(jobs, tests)["worth_order"].set_index("name")
    return table["review_gain_group"].to_dict() if "review_gain_group" in table else None
