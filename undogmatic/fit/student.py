"""Fits a student to what another judge, its teacher, said: ridge, elastic net or kernel ridge on
embeddings.

The scores by which the student is measured and given its intervals are each by a fit that saw
nothing of the text's author or group; its penalty was chosen by cross-validation among the others,
and its kind is that which such cross-validations chose most often. All of them hold out whole
authors or groups.
"""

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import linalg, stats

from undogmatic.datasets.belonging import groups_of
from undogmatic.errors import DataError
from undogmatic.fit.probe import (
    COVERAGE,
    calibrate,
    fit_regression,
    fold_codes,
    held_out,
    held_out_raw,
)
from undogmatic.models.distilled import FORMAT, About, Linear, Student
from undogmatic.models.embeddings import Embeddings
from undogmatic.models.fitted import Regression, rubric_digest
from undogmatic.records.folding import Folding
from undogmatic.records.marks import text_marks
from undogmatic.records.records import Item, digest
from undogmatic.records.rubric import Rubric
from undogmatic.stats.checks import Array, Index

Method = Literal["ridge", "elastic net", "kernel ridge"]
LEAST = 50
MOST = 2000
"""So many texts of a teacher a student is fitted to where nobody asks for more: a fit holds all
vectors several times, and its seconds grow faster than the texts."""
LEAST_LABELS = 50
"""So many labels by people are needed for intervals that cover people's labels; with fewer they
cover the teacher."""
KERNEL_PENALTY, KERNEL_DIRECTIONS = 0.1, 1024
"""Of kernel ridge. Runs of letters lie in many directions: with 256 of them their student is worse.
"""
DIRECTIONS = 384
"""Main directions of the embeddings that are fitted on; of 2,900 numbers these lose nothing
(benchmarks/distill.py)."""
RIDGE = tuple(np.logspace(-3, 2, 11).tolist())
"""Penalties, in units of the mean squared length of the fitted texts."""
NET = tuple(np.logspace(-3, -0.5, 6).tolist())
"""Penalties, as a share of the one at which no direction is left."""
PENALTIES: dict[Method, tuple[float, ...]] = {"ridge": RIDGE, "elastic net": NET}
METHODS: tuple[Method, ...] = ("ridge", "elastic net", "kernel ridge")
MOST_FOLDS = 4
HALF = 0.5
"""The share of the elastic net's penalty that is of absolute values."""


@dataclass(frozen=True)
class Lesson:
    """What a teacher said of texts.

    Attributes:
        items: With the labels of people, where there are any, on the rubric's scale, and what
            belongs together.
        texts: What is judged of each, as one text; distinct.
        scores: The teacher's, shape (n,), in units of the rubric's scale.
        labels: People's, shape (n,), NaN where there is none.
        teacher: Its name.
        left_out: How many texts besides it scored, which were not drawn.
    """

    items: Sequence[Item]
    texts: Sequence[str]
    scores: Array
    labels: Array
    rubric: Rubric
    teacher: str
    left_out: int = 0

    def check(self) -> None:
        """Raise DataError for too few texts, and for a teacher that says one number of all."""
        if len(self.texts) < LEAST:
            raise DataError(
                f"{self.teacher} scored {len(self.texts)} different texts; a student needs at least"
                f" {LEAST}, and 200 to 500 to be any good. Judge more texts, or name several runs:"
                " undogmatic distill RUN RUN."
            )
        if np.ptp(self.scores) == 0:
            raise DataError(
                f"{self.teacher} gave {self.scores[0]:g} to all {len(self.texts)} texts, so that"
                " there is nothing to learn from it. Distil another judge."
            )


class Fit(NamedTuple):
    """A student, and what was said of its texts by students that did not see them."""

    student: Student
    lesson: Lesson
    groups: list[str]  # what each text belongs to
    scores: Array  # held out, shape (n,)
    limits: Array  # lower and upper, shape (2, n)


def fit_student(
    lesson: Lesson,
    embeddings: Embeddings,
    node: Mapping[str, Any],
    methods: Sequence[Method] = METHODS,
) -> Fit:
    """Fit a student of one of these kinds on embeddings that the config `node` describes. Raises
    DataError as `Lesson.check`."""
    from threadpoolctl import threadpool_limits

    lesson.check()
    folding = Folding.learnt(lesson.texts)
    vectors = embeddings.vectors(list(map(folding.read, lesson.texts))).astype(
        np.float64
    )
    groups = groups_of(lesson.items)
    names = [groups[item.id] for item in lesson.items]
    own = [
        item.model_copy(update={"metadata": item.metadata | {"group": name}})
        for item, name in zip(lesson.items, names, strict=True)
    ]
    folds, how, _ = fold_codes(own)
    divisors = alike(embeddings.widths(lesson.texts[0]))
    people = lesson.labels if np.isfinite(lesson.labels).sum() >= LEAST_LABELS else None
    ends = lesson.rubric.minimum, lesson.rubric.maximum
    # sums in another order give other last bits, and a file should be reproducible
    with threadpool_limits(1):
        others = [folds != fold for fold in np.unique(folds)]
        votes = list(methods)
        if len(methods) > 1:
            votes = [
                choose(
                    vectors[kept], lesson.scores[kept], folds[kept], methods, divisors
                )[0]
                for kept in others
            ]
        method = max(dict.fromkeys(votes), key=votes.count)
        raw = np.empty(len(vectors))
        for kept in others:
            learnt, _ = learn(
                vectors[kept], lesson.scores[kept], folds[kept], method, divisors
            )
            raw[~kept] = learnt.raw(vectors[~kept])
        regression, penalty = learn(vectors, lesson.scores, folds, method, divisors)
    apart, covered = spread(lesson.scores), lesson.scores if people is None else people
    scores, (low, high) = held_out(raw, apart, folds, ends, covered)
    about = About(
        format=FORMAT,
        rubric=lesson.rubric.name,
        rubric_digest=rubric_digest(lesson.rubric),
        scale=ends,
        teacher=lesson.teacher,
        teacher_digest=digest(
            [
                [i.id, t, s]
                for i, t, s in zip(
                    own, lesson.texts, lesson.scores.tolist(), strict=True
                )
            ]
        ),
        embeddings=dict(node),
        embeddings_name=embeddings.name,
        embeddings_digest=embeddings.digest,
        method=method,
        penalty=penalty,
        texts=tuple(sorted(text_marks(lesson.texts))),
        n=len(lesson.texts),
        held_out=how,
        intervals_of="teacher" if people is None else "people",
        coverage=COVERAGE,
        figures=_figures(scores, lesson),
        versions={"numpy": importlib.metadata.version("numpy")},
        folding=folding,
    )
    student = Student(about, regression, calibrate(raw, apart, covered), embeddings)
    return Fit(student, lesson, names, scores, np.stack([low, high]))


def spread(scores: Array) -> Array:
    """The scores, shape (n,), with equal ones spread evenly within half the way to their
    neighbours, the lowest and the highest inwards: a map to their quantiles is then nowhere flat,
    and keeps the order of a regression.
    """
    values, codes, counts = np.unique(scores, return_inverse=True, return_counts=True)
    if len(values) < 2:
        return scores
    gaps = np.diff(values) / 2
    half = np.minimum(np.r_[gaps[0], gaps], np.r_[gaps, gaps[-1]])
    low, high = (
        np.r_[values[0], (values - half)[1:]],
        np.r_[(values + half)[:-1], values[-1]],
    )
    turn = np.empty(len(scores))
    turn[np.argsort(codes, kind="stable")] = (
        np.concatenate([np.arange(count) for count in counts]) + 0.5
    )
    return np.where(
        counts[codes] == 1,
        scores,
        low[codes] + (high - low)[codes] * turn / counts[codes],
    )


def alike(widths: Sequence[int]) -> Array:
    """What the standardised numbers of a vector are divided by, so that embeddings side by side
    count alike, however many numbers each of them has. Shape (width,)."""
    each = np.repeat(widths, widths)
    return np.asarray(np.sqrt(each / np.mean(widths)))


def choose(
    vectors: Array,
    scores: Array,
    folds: Index,
    methods: Sequence[Method],
    divisors: Array | float = 1.0,
) -> tuple[Method, float]:
    """Kind and penalty by which texts are ordered best when their fold is left out: the highest
    rank correlation with their scores. Vectors of shape (n, width); one code per text in `folds`,
    some of which are left out together.
    """
    folds = np.unique(folds, return_inverse=True)[1] % MOST_FOLDS
    mean, to_rows = _directions(vectors, divisors)
    rows, told = (vectors - mean) @ to_rows, dict[tuple[Method, float], Array]()
    for method in methods:
        if method == "kernel ridge":
            told[method, KERNEL_PENALTY] = held_out_raw(
                vectors, scores, folds, **_kernel(divisors)
            )
            continue
        found = np.empty((len(scores), len(PENALTIES[method])))
        for fold in np.unique(folds):
            out = folds == fold
            weights = solve(rows[~out], scores[~out], method, PENALTIES[method])
            found[out] = rows[out] @ weights[:, :-1].T + weights[:, -1]
        told |= {
            (method, penalty): own
            for penalty, own in zip(PENALTIES[method], found.T, strict=True)
        }
    # Rounded, so that scores which differ by the last bits of a sum stay tied, on
    # whatever machine.
    ranks = stats.rankdata(np.round([scores, *told.values()], 9), axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    orders = (ranks[1:] @ ranks[0]) / (np.linalg.norm(ranks[1:], axis=1) + 1e-9)
    return list(told)[int(np.argmax(orders))]


def learn(
    vectors: Array,
    scores: Array,
    folds: Index,
    method: Method,
    divisors: Array | float = 1.0,
) -> tuple[Linear | Regression, float]:
    """The regression of this kind, and its penalty, chosen by `choose`."""
    if method == "kernel ridge":
        return fit_regression(vectors, scores, **_kernel(divisors)), KERNEL_PENALTY
    penalty = choose(vectors, scores, folds, [method], divisors)[1]
    mean, to_rows = _directions(vectors, divisors)
    (found,) = solve((vectors - mean) @ to_rows, scores, method, [penalty])
    weights = to_rows @ found[:-1]
    return Linear(weights, np.array([found[-1] - mean @ weights])), penalty


def _kernel(divisors: Array | float) -> dict[str, Any]:
    return {
        "penalty": KERNEL_PENALTY,
        "components": KERNEL_DIRECTIONS,
        "divisors": divisors,
    }


def solve(
    rows: Array, scores: Array, method: Method, penalties: Sequence[float]
) -> Array:
    """The weights of each penalty, and its offset as the last number: shape (n_penalties,
    n_directions + 1)."""
    from sklearn.linear_model import Ridge, enet_path

    middle, centre = rows.mean(axis=0), float(scores.mean())
    x, y = rows - middle, scores - centre
    if method == "ridge":
        alphas = np.array(penalties) * float((x**2).sum(axis=1).mean())
        targets = np.tile(y[:, None], len(penalties))
        weights = (
            Ridge(alpha=alphas, fit_intercept=False, solver="cholesky")
            .fit(x, targets)
            .coef_
        )
    else:
        most = float(np.abs(x.T @ y).max()) / len(y) / HALF
        alphas = np.array(penalties) * most
        _, found, _ = enet_path(
            x, y, l1_ratio=HALF, alphas=alphas, precompute=True, max_iter=500, tol=1e-3
        )
        # it goes from the greatest penalty down
        weights = found.T[np.argsort(np.argsort(-alphas))]
    weights = np.atleast_2d(weights)
    return np.column_stack([weights, centre - weights @ middle])


def _directions(vectors: Array, divisors: Array | float) -> tuple[Array, Array]:
    """The mean of vectors, and the matrix that brings a vector less this mean into main directions,
    standardised first: shapes (width,) and (width, n_directions). Nothing is known of scores here,
    so nothing of them can leak.
    """
    mean, scale = vectors.mean(axis=0), (vectors.std(axis=0) + 1e-9) * divisors
    standard = (vectors - mean) / scale
    n, width = standard.shape
    product = standard @ standard.T if n < width else standard.T @ standard
    values, found = linalg.eigh(
        product, subset_by_index=(max(0, len(product) - DIRECTIONS), len(product) - 1)
    )
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
            told[f"{name}.spearman"] = float(
                stats.spearmanr(scores[known], truth[known]).statistic
            )
            told[f"{name}.mean_absolute_error"] = float(
                np.abs(scores[known] - truth[known]).mean()
            )
    return {name: round(value, 6) for name, value in told.items()}
