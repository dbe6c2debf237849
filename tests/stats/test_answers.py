"""The figures of an answer where items stand in groups: they hold the truth, and use what is in the
groups."""

import numpy as np
import pytest

from benchmarks.coverage.__main__ import of_answers as table_of
from benchmarks.coverage.__main__ import row
from benchmarks.coverage.answers import of_answers, of_strata
from benchmarks.coverage.samples import Question, Sample
from tests.stats.conftest import Rng, sure, width
from undogmatic.stats import limits, means, ranking, rated

SAMPLES = 60


@pytest.fixture(scope="module")
def questions() -> dict[tuple[str, str], Question]:
    wanted = ("answer: Spearman", "answer: concordance", "answer: kappa")
    asked = [one for one in of_answers() if one.kind in wanted] + list(of_strata())
    return {
        (
            one.kind.removeprefix("answer: "),
            f"{one.name} {'/'.join(one.groupings)}",
        ): one
        for one in asked
    }


@pytest.mark.parametrize(
    ("figure", "shape", "grouping", "widest"),
    [
        ("Spearman", "grades, apart", "5-20", 0.2),
        ("Spearman", "five levels, skewed, alike", "unequal", 0.35),
        ("concordance", "grades, alike", "5-20", 0.25),
        ("kappa", "half pass, apart", "5-20", 0.32),
        ("kappa", "one in ten passes, alike", "unequal", 0.6),
    ],
)
def test_groups_are_neither_forgotten_nor_counted_as_one_item(
    questions: dict[tuple[str, str], Question],
    figure: str,
    shape: str,
    grouping: str,
    widest: float,
) -> None:
    question = next(
        one
        for (kind, name), one in questions.items()
        if kind == figure and name.startswith(f"{shape} ")
    )
    found = row(question, 250, grouping, "chosen", SAMPLES)
    assert found is not None
    assert (
        float(str(found["coverage"])) >= 0.88
        and float(str(found["median_width"])) < widest
    )


def test_skewed_labels_of_strata(questions: dict[tuple[str, str], Question]) -> None:
    question = next(
        own
        for (kind, name), own in questions.items()
        if name.startswith("five levels, labels exponential")
    )
    found = row(question, 500, "alone", "chosen", 150)
    assert found is not None and float(str(found["coverage"])) >= 0.92


def test_the_table_of_the_figures_names_the_lowest_and_the_highest_coverage() -> None:
    import pandas as pd

    rows = [
        ("answer: kappa", 60, "alone", 0.94),
        ("answer: kappa", 60, "alone", 0.96),
        ("mean", 60, "alone", 0.5),
    ]
    shown = table_of(
        pd.DataFrame(rows, columns=["of", "units", "groups", "coverage"])
    ).splitlines()
    assert shown[2:] == ["| kappa | 60 | 94.0 to 96.0 % |  |  |  |"]


def test_samples_without_an_interval_are_drawn_anew_and_limits_that_say_nothing_are_counted() -> (
    None
):
    def ends(sample: Sample, rng: np.random.Generator) -> tuple[float, float]:
        first = float(sample.values[0])
        return (
            (np.nan, np.nan)
            if first < 0.5
            else (-1.0, 1.0)
            if first < 0.75
            else (0.6, 1.0)
        )

    question = Question(
        "share",
        "of one",
        lambda rng, groups: rng.random(groups.size),
        0.5,
        {"chosen": ends},
        whole=(-1.0, 1.0),
    )
    found = row(question, 5, "alone", "chosen", 400)
    assert found is not None and found["samples"] == 400
    assert 0.4 < float(str(found["unlimited"])) < 0.6
    assert found["coverage"] == found["unlimited"], (
        "the other limits never hold the truth"
    )
    assert found["median_width"] == 0.4
    rare = Question(
        "share",
        "of none",
        lambda rng, groups: np.zeros(groups.size),
        0.5,
        {"chosen": ends},
    )
    assert row(rare, 5, "alone", "chosen", 20) is None


def test_a_rank_correlation_has_the_limits_of_the_jackknife_alone(rng: Rng) -> None:
    """Where nothing failed: the wider of these and others would hold the truth too often."""
    groups = np.repeat(np.arange(12), 5)
    x = rng.normal(size=60)
    y = x + rng.normal(size=60)
    found = sure(limits.order(x, y, rng, groups=groups))
    jackknife = ranking.spearman_interval(x, y, rng, groups=groups)
    assert found.interval == jackknife.interval
    assert (found.worst, found.best) == found.interval
    failed = np.where(np.arange(60) % 20 == 0, np.nan, x)
    known = sure(limits.order(failed, y, rng, groups=groups))
    assert known.worst is not None and known.best is not None
    assert known.worst < known.low and known.high < known.best


def test_a_rank_correlation_of_groups_lies_between_that_of_their_items_and_of_one_item_each(
    rng: Rng,
) -> None:
    groups = np.repeat(np.arange(25), 10)

    def of(together: float) -> float:
        shared = together**0.5 * rng.normal(size=(25, 3))[groups] + (
            1 - together
        ) ** 0.5 * rng.normal(size=(250, 3))
        x, y = shared[:, 0] + 0.6 * shared[:, 1], shared[:, 0] + 0.6 * shared[:, 2]
        return width(sure(limits.order(x, y, np.random.default_rng(0), groups=groups)))

    narrow, wide = (
        float(np.median([of(together) for _ in range(12)])) for together in (0.0, 1.0)
    )
    assert 0.12 < narrow < 0.2 and 0.3 < wide < 0.6


def test_a_group_of_copies_is_one_item_for_a_coefficient_of_categories(
    rng: Rng,
) -> None:
    """Also where hardly a verdict differs, so that the limits come from what is possible."""
    verdicts = (rng.random(60) < 0.1) * 1.0
    labels = np.where(rng.random(60) < 0.04, 1 - verdicts, verdicts)

    def kappa(times: int) -> tuple[float, float]:
        sides = [np.repeat(own, times) for own in (verdicts, labels)]
        use = rated.Rated(*sides, np.ones(60 * times), np.repeat(np.arange(60), times))
        return sure(use.coefficient(2, rated.kappa(rated.costs(2, "none")))).interval

    assert kappa(5) == pytest.approx(kappa(1), abs=0.01)


def test_what_groups_are_worth(rng: Rng) -> None:
    groups = np.repeat(np.arange(30), 8)
    apart, alike = rng.normal(size=240), rng.normal(size=30)[groups]
    assert means.worth(alike, groups) == pytest.approx(30)
    assert 150 < means.worth(apart, groups) <= 240
    assert means.worth(apart, groups, level=0.95) < means.worth(apart, groups)
    assert means.worth(np.zeros(240), groups, level=0.95) == pytest.approx(30)
    assert means.worth(apart, np.arange(240)) == pytest.approx(240)


def test_degrees_of_freedom_follow_how_far_members_go_together(rng: Rng) -> None:
    """Against a simulation of the variance of a mean over groups of very unequal size."""
    size = np.array([1, 1, 1, 2, 2, 3, 3, 4, 6, 8, 12, 20])
    share, groups = size / size.sum(), np.repeat(np.arange(size.size), size)
    found = []
    for together in (0.0, 1.0):
        varies = (1 - together) * size + together * size**2.0
        degrees = means.degrees_of_freedom(share, varies)
        squares = []
        for _ in range(3000):
            own = together**0.5 * rng.normal(size=12)[groups] + (
                1 - together
            ) ** 0.5 * rng.normal(size=groups.size)
            units = means.Sums(np.bincount(groups, own), size.astype(float))
            squares.append(means.spread(units, float(own.mean()))[0] ** 2)
        assert degrees == pytest.approx(
            2 * np.mean(squares) ** 2 / np.var(squares), rel=0.12
        )
        found.append(degrees)
    assert found[0] > 1.5 * found[1]
    assert means.degrees_of_freedom(share) == pytest.approx(found[1])
