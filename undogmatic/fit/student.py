"""Fits a student: ridge or elastic net on embeddings, to what another judge, its teacher, said of the same texts.

Kind and penalty are chosen by cross-validation that holds out whole authors or groups; so are the scores by which the
student is measured and given its intervals, each by a fit, choice included, that saw nothing of its author or group.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, stats

from undogmatic.analyses.independence import groups_of
from undogmatic.errors import DataError
from undogmatic.fit.probe import COVERAGE, calibrate, fold_codes, held_out
from undogmatic.models.distilled import FORMAT, About, Regression, Student
from undogmatic.models.embeddings import Embeddings
from undogmatic.models.fitted import rubric_digest
from undogmatic.records.records import Item, digest, text_mark
from undogmatic.records.rubric import Rubric

Array = NDArray[np.float64]
Method = Literal["ridge", "elastic net"]
LEAST = 50
LEAST_LABELS = 50
"""So many labels by people are needed for intervals that cover people's labels; with fewer they cover the teacher."""
DIRECTIONS = 384
"""Main directions of the embeddings that are fitted on; of 2,900 numbers these lose nothing (benchmarks/distill.py)."""
RIDGE = tuple(np.logspace(-3, 2, 11).tolist())
"""Penalties, in units of the mean squared length of the fitted texts."""
NET = tuple(np.logspace(-3, -0.5, 6).tolist())
"""Penalties, as a share of the one at which no direction is left."""
MOST_FOLDS = 5
HALF = 0.5
"""The share of the elastic net's penalty that is of absolute values."""


@dataclass(frozen=True)
class Lesson:
    """What a teacher said of texts.

    Attributes:
        items: With the labels of people, where there are any, on the rubric's scale, and what belongs together.
        texts: What is judged of each, as one text; distinct.
        scores: The teacher's, shape (n,), in units of the rubric's scale.
        labels: People's, shape (n,), NaN where there is none.
        teacher: Its name.
    """

    items: Sequence[Item]
    texts: Sequence[str]
    scores: Array
    labels: Array
    rubric: Rubric
    teacher: str

    def check(self) -> None:
        """Raise DataError for too few texts, and for a teacher that says one number of all."""
        if len(self.texts) < LEAST:
            raise DataError(
                f"{self.teacher} scored {len(self.texts)} different texts; a student needs at least {LEAST}, and 200 "
                "to 500 to be any good. Judge more texts, or name several runs: undogmatic distill RUN RUN."
            )
        if np.ptp(self.scores) == 0:
            raise DataError(
                f"{self.teacher} gave {self.scores[0]:g} to all {len(self.texts)} texts, so that there is nothing to "
                "learn from it. Distil another judge."
            )


class Fit(NamedTuple):
    """A student, and what was said of its texts by students that did not see them."""

    student: Student
    lesson: Lesson
    groups: list[str]  # what each text belongs to
    scores: Array  # held out, shape (n,)
    low: Array
    high: Array


def fit_student(lesson: Lesson, embeddings: Embeddings, node: Mapping[str, Any]) -> Fit:
    """Fit a student on embeddings that the config `node` describes. Raises DataError as `Lesson.check`."""
    from threadpoolctl import threadpool_limits

    lesson.check()
    vectors = embeddings.vectors(lesson.texts).astype(np.float64)
    groups = groups_of(lesson.items)
    names = [groups[item.id] for item in lesson.items]
    own = [
        item.model_copy(update={"metadata": item.metadata | {"group": name}})
        for item, name in zip(lesson.items, names, strict=True)
    ]
    folds, how, _ = fold_codes(own)
    people = lesson.labels if np.isfinite(lesson.labels).sum() >= LEAST_LABELS else None
    ends = lesson.rubric.minimum, lesson.rubric.maximum
    with threadpool_limits(1):  # sums in another order give other last bits, and a file should be reproducible
        mean, to_rows = _directions(vectors)
        rows = (vectors - mean) @ to_rows
        raw = np.empty(len(rows))
        for fold in np.unique(folds):
            out = folds == fold
            method, penalty = choose(rows[~out], lesson.scores[~out], folds[~out])
            raw[out] = rows[out] @ (fitted := solve(rows[~out], lesson.scores[~out], method, [penalty])[0])[:-1]
            raw[out] += fitted[-1]
        method, penalty = choose(rows, lesson.scores, folds)
        weights = solve(rows, lesson.scores, method, [penalty])[0]
    weights, offset = to_rows @ weights[:-1], weights[-1]
    scores, (low, high) = held_out(raw, lesson.scores, folds, ends, people)
    about = About(
        format=FORMAT,
        rubric=lesson.rubric.name,
        rubric_digest=rubric_digest(lesson.rubric),
        scale=ends,
        teacher=lesson.teacher,
        teacher_digest=digest(
            [[i.id, t, s] for i, t, s in zip(own, lesson.texts, lesson.scores.tolist(), strict=True)]
        ),
        embeddings=dict(node),
        embeddings_name=embeddings.name,
        embeddings_digest=embeddings.digest,
        method=method,
        penalty=penalty,
        texts=tuple(sorted(map(text_mark, lesson.texts))),
        n=len(lesson.texts),
        held_out=how,
        intervals_of="teacher" if people is None else "people",
        coverage=COVERAGE,
        figures=_figures(scores, lesson),
        versions={"numpy": importlib.metadata.version("numpy")},
    )
    regression = Regression(weights, np.array([offset - mean @ weights]))
    student = Student(about, regression, calibrate(raw, lesson.scores, people), embeddings)
    return Fit(student, lesson, names, scores, low, high)


def choose(rows: Array, scores: Array, folds: NDArray[np.intp]) -> tuple[Method, float]:
    """Kind and penalty by which the scores of texts are foretold best when their fold is left out: the least squared
    error, shape (n, n_directions) of the rows, one code per row in `folds`, some of which are left out together."""
    errors: dict[tuple[Method, float], float] = {}
    folds = np.unique(folds, return_inverse=True)[1] % MOST_FOLDS
    for fold in np.unique(folds):
        out = folds == fold
        for method, penalties in CANDIDATES.items():
            found = solve(rows[~out], scores[~out], method, penalties)
            missed = rows[out] @ found[:, :-1].T + found[:, -1] - scores[out, None]
            for penalty, error in zip(penalties, (missed**2).sum(axis=0).tolist(), strict=True):
                errors[method, penalty] = errors.get((method, penalty), 0.0) + error
    return min(errors, key=errors.__getitem__)


CANDIDATES: dict[Method, tuple[float, ...]] = {"ridge": RIDGE, "elastic net": NET}


def solve(rows: Array, scores: Array, method: Method, penalties: Sequence[float]) -> Array:
    """The weights of each penalty, and its offset as the last number: shape (n_penalties, n_directions + 1)."""
    from sklearn.linear_model import Ridge, enet_path

    middle, centre = rows.mean(axis=0), float(scores.mean())
    x, y = rows - middle, scores - centre
    if method == "ridge":
        alphas = np.array(penalties) * float((x**2).sum(axis=1).mean())
        targets = np.tile(y[:, None], len(penalties))
        weights = Ridge(alpha=alphas, fit_intercept=False, solver="cholesky").fit(x, targets).coef_
    else:
        most = float(np.abs(x.T @ y).max()) / len(y) / HALF
        alphas = np.array(penalties) * most
        _, found, _ = enet_path(x, y, l1_ratio=HALF, alphas=alphas, precompute=True, max_iter=500, tol=1e-3)
        weights = found.T[np.argsort(np.argsort(-alphas))]  # it goes from the greatest penalty down
    weights = np.atleast_2d(weights)
    return np.column_stack([weights, centre - weights @ middle])


def _directions(vectors: Array) -> tuple[Array, Array]:
    """The mean of vectors, and the matrix that brings a vector less this mean into main directions, standardised first:
    shapes (width,) and (width, n_directions). Nothing is known of scores here, so nothing of them can leak."""
    mean, scale = vectors.mean(axis=0), vectors.std(axis=0) + 1e-9
    standard = (vectors - mean) / scale
    n, width = standard.shape
    product = standard @ standard.T if n < width else standard.T @ standard
    values, found = linalg.eigh(product, subset_by_index=(max(0, len(product) - DIRECTIONS), len(product) - 1))
    kept = values > 1e-8 * values[-1]
    values, found = values[kept], found[:, kept]
    directions = standard.T @ found / np.sqrt(values) if n < width else found
    return mean, directions / scale[:, None]


def _figures(scores: Array, lesson: Lesson) -> dict[str, float]:
    """Rank correlation and error against the teacher, and against people where there are labels."""
    told = {}
    for name, truth in (("teacher", lesson.scores), ("people", lesson.labels)):
        known = np.isfinite(truth)
        if known.sum() >= LEAST_LABELS and np.ptp(truth[known]) > 0:
            told[f"{name}.spearman"] = float(stats.spearmanr(scores[known], truth[known]).statistic)
            told[f"{name}.mean_absolute_error"] = float(np.abs(scores[known] - truth[known]).mean())
    return {name: round(value, 6) for name, value in told.items()}
