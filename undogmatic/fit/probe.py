"""Fits a probe: ordinal kernel ridge, calibrated and given intervals on held-out authors.

What weighs the pieces of a text (`Sieve`) is fitted on texts and copies in which it is known what
was put in.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import linalg, stats

from undogmatic.datasets.tabular import check_labels
from undogmatic.errors import ConfigError, DataError
from undogmatic.models.base import Model, Pieces, View, cut
from undogmatic.models.fitted import Calibration, Regression, kernel, rubric_digest
from undogmatic.readouts import probe as probes
from undogmatic.readouts.base import shown_text
from undogmatic.readouts.probe import Probe, Sieve, as_read
from undogmatic.records.folding import Folding
from undogmatic.records.marks import text_marks
from undogmatic.records.progress import in_words, speaking
from undogmatic.records.records import Item, digest
from undogmatic.records.rubric import Rubric
from undogmatic.records.words import Words
from undogmatic.safety import files
from undogmatic.safety.paths import data_folder

TEXTS = Path(__file__).with_name("probe.texts.yaml")
LEAST = 20
VIEWS = (View(blocks=(5, 7, 9, 11)),)
COMPONENTS = 256
# added to the kernel's diagonal, whose entries are 1; twice as much where there are copies
PENALTY = 0.05
THRESHOLDS = 19
STEEPNESS = 12.0
DECAY = 0.3  # of the kernel, in units of the mean squared length of the fitted texts
COVERAGE = 0.90
KNOTS = 101
PER_BIN = 90  # held-out residuals behind one pair of interval limits
# residuals that an interval covers beyond its share: the shortest flatters itself
SPARE = 2
PIECE_COMPONENTS = 128
SIEVE_PENALTY = 30.0
SIEVE_FOLDS = 5
DOUBT = 2.0  # taken from the log odds that a piece belongs to the text
Read = TypeVar("Read")


def fit_regression(
    features: np.ndarray,
    labels: np.ndarray,
    copies: np.ndarray | None = None,
    penalty: float = PENALTY,
    components: int = COMPONENTS,
    divisors: np.ndarray | float = 1.0,
) -> Regression:
    """Kernel ridge regression of "the label lies above the threshold", for thresholds at the
    labels' quantiles.

    Thresholds, because labels crowd at both ends of a scale: squared error on the scale itself
    would spend the model on the distance between 0 and 10. The main directions, because they lose
    nothing (measured) and keep the file small.

    Args:
        features: Shape (n, n_features).
        labels: Shape (n,).
        copies: Features of a copy of each text with other text put into it, shape (n, n_features),
            fitted with the same labels.
        penalty: Added to the kernel's diagonal, whose entries are 1; with copies twice as much, as
            a text that is there twice pulls twice as hard.
        components: How many main directions.
        divisors: The standardised features are divided by these, shape (n_features,): where two
            families of features are to count alike, by the root of how many each has.
    """
    if copies is not None:
        features, labels = np.vstack([features, copies]), np.tile(labels, 2)
        penalty = 2 * penalty
    features = np.asarray(features, dtype=np.float64)
    n = len(features)
    mean, scale = features.mean(axis=0), (features.std(axis=0) + 1e-6) * divisors
    standard = (features - mean) / scale
    # Directions from the smaller of both matrices: of texts, or of features.
    few = n <= standard.shape[1]
    products = standard @ standard.T if few else standard.T @ standard
    size = len(products)
    values, vectors = linalg.eigh(
        products, subset_by_index=(max(0, size - components), size - 1)
    )
    kept = [k for k in np.argsort(-values) if values[k] > 1e-8 * values[-1]]
    directions = (
        (vectors[:, kept] / np.sqrt(values[kept])).T @ standard
        if few
        else vectors[:, kept].T
    )
    # Rounded before the weights are fitted, so that the weights belong to what the file holds.
    directions = directions.astype(np.float16)
    supports = (standard @ directions.astype(np.float64).T).astype(np.float16)
    rows = supports.astype(np.float64)
    decay = DECAY / float((rows**2).sum(axis=1).mean())
    places = (np.arange(THRESHOLDS) + 0.5) / THRESHOLDS
    above = (
        labels[:, None] > np.quantile(labels, places, method="inverted_cdf")
    ).astype(np.float64)
    bias = above.mean(axis=0)
    dual = np.linalg.solve(
        kernel(rows, rows, decay) + penalty * np.eye(n), above - bias
    )
    return Regression(
        mean,
        scale,
        directions,
        supports,
        dual,
        bias,
        np.array([decay]),
        np.array([STEEPNESS]),
    )


def held_out_raw(
    features: np.ndarray,
    labels: np.ndarray,
    folds: np.ndarray,
    copies: np.ndarray | None = None,
    **options: Any,
) -> np.ndarray:
    """Raw score of every text by a fit (`fit_regression`, which has the options) that has not seen
    its fold, nor the copies of its texts; `folds` has one code per text, shape (n,)."""
    raw = np.empty(len(labels))
    for fold in np.unique(folds):
        inside = folds == fold
        beside = None if copies is None else copies[~inside]
        fitted = fit_regression(features[~inside], labels[~inside], beside, **options)
        raw[inside] = fitted.raw(features[inside])
    return raw


def calibrate(
    raw: np.ndarray, labels: np.ndarray, covered: np.ndarray | None = None
) -> Calibration:
    """Held-out raw scores -> the map to the scale, the interval's limits and the spread, as
    functions of the score. What the intervals are to cover may be known of some texts only
    (`covered`, shape (n,), NaN elsewhere); None: it is the labels.

    The map sends quantiles of the raw scores to the same quantiles of the labels: a regression
    draws its scores together, and this draws them apart again. For the limits, texts are sorted by
    score and cut into bins of about PER_BIN; they are the ends of the shortest span that covers
    the level's share of the bin's residuals, (n + 1) times the level rounded up, and SPARE more.
    Shortest, because residuals near an end of the scale lie on one side, where a tenth left out
    shortens the interval most.
    """
    levels = np.linspace(0.0, 1.0, KNOTS)
    raw_knots, score_knots = (
        np.quantile(values, levels, method="hazen") for values in (raw, labels)
    )
    scores = np.interp(raw, raw_knots, score_knots)
    covered = labels if covered is None else covered
    known = np.flatnonzero(np.isfinite(covered))
    order = known[np.argsort(scores[known], kind="stable")]
    rows = []
    for members in np.array_split(order, max(1, len(order) // PER_BIN)):
        left = np.sort(covered[members] - scores[members])
        reach = min(left.size, int(np.ceil((left.size + 1) * COVERAGE)) + SPARE)
        lows, highs = left[: left.size - reach + 1], left[reach - 1 :]
        shortest = int((highs - lows).argmin())
        rows.append(
            (
                np.median(scores[members]),
                lows[shortest],
                highs[shortest],
                np.sqrt(np.mean(left**2)),
            )
        )
    return Calibration(
        raw_knots, score_knots, *np.array(rows, dtype=np.float64).T.copy()
    )


def held_out(
    raw: np.ndarray,
    labels: np.ndarray,
    folds: np.ndarray,
    ends: tuple[float, float],
    covered: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Scores for held-out raw scores, shape (n,), and both ends of their intervals, shape (2, n),
    calibrated on the held-out raw scores of the other folds (see `calibrate`)."""
    scores, limits = np.empty(len(labels)), np.empty((2, len(labels)))
    for fold in np.unique(folds):
        inside = folds == fold
        known = calibrate(
            raw[~inside], labels[~inside], None if covered is None else covered[~inside]
        )
        scores[inside] = np.interp(raw[inside], known.raw_knots, known.score_knots)
        for row, limit in enumerate((known.below, known.above)):
            limits[row, inside] = scores[inside] + np.interp(
                scores[inside], known.score_bins, limit
            )
    return np.clip(scores, *ends), np.clip(limits, *ends)


def fit_probe(
    features: np.ndarray,
    items: Sequence[Item],
    rubric: Rubric,
    about: dict[str, Any],
    copies: np.ndarray | None = None,
    sieve: Sieve | None = None,
) -> Probe:
    """Fit on all items; intervals and figures come from held-out authors (or groups).

    Args:
        features: Shape (n, n_features), rows in the order of `items`.
        about: model, model_sha256, views and versions for the file.
        copies: As in `fit_regression`; figures and calibration are those of the texts themselves.
        sieve: What weighed the pieces of the texts and copies for these features.
    Raises:
        DataError: Fewer than LEAST texts, a label outside the rubric, or no spread in the labels.
    """
    from threadpoolctl import threadpool_limits

    labels = _labels(items, rubric)
    folds, how, authors = fold_codes(items)
    # sums in another order give other last bits, and a file should be reproducible
    with threadpool_limits(1):
        raw = held_out_raw(features, labels, folds, copies)
        regression = fit_regression(features, labels, copies)
    scores, (low, high) = held_out(raw, labels, folds, (rubric.minimum, rubric.maximum))
    figures = {
        "spearman": float(stats.spearmanr(scores, labels).statistic),
        "mean_absolute_error": float(np.abs(scores - labels).mean()),
        "coverage": float(((low <= labels) & (labels <= high)).mean()),
        "width": float((high - low).mean()),
    }
    told = probes.About(
        format=probes.FORMAT,
        rubric=rubric.name,
        rubric_digest=rubric_digest(rubric),
        penalty=PENALTY if copies is None else 2 * PENALTY,
        labels=digest([[i.id, i.text, i.label] for i in items]),
        texts=tuple(sorted(text_marks(item.text for item in items))),
        n=len(items),
        authors=authors,
        held_out=how,
        injected=0 if copies is None else len(copies),
        figures={name: round(value, 6) for name, value in figures.items()},
        coverage=COVERAGE,
        **about,
    )
    return Probe(told, regression, calibrate(raw, labels), sieve)


def fold_codes(items: Sequence[Item]) -> tuple[np.ndarray, str, tuple[str, ...]]:
    """Who is held out together: (code per item, how in words, the authors).

    With three authors or more (`author` of the items), one author at a time; otherwise ten folds in
    which the texts of one `group`, or else of one `pair`, stay together.
    """
    authors = [author_of(item) for item in items]
    names = tuple(sorted({a for a in authors if a is not None}))
    if len(names) >= 3 and None not in authors:
        return (
            np.array([names.index(a) for a in authors if a is not None]),
            "one author left out at a time",
            names,
        )
    groups = [str(item.metadata.get("group") or item.pair or item.id) for item in items]
    ordered = sorted(set(groups), key=digest)
    return (
        np.array([ordered.index(group) % 10 for group in groups]),
        "ten folds by group",
        names,
    )


def author_of(item: Item) -> str | None:
    """The item's `author`; for curated texts, whose ids begin with it, that beginning."""
    if "author" in item.metadata:
        return str(item.metadata["author"])
    return item.id.split("-")[0] if "part" in item.metadata else None


def shipped(rubric: str) -> probes.About | None:
    """What is known of the probe that ships for a rubric of this name; None where none does."""
    file = data_folder() / "probes" / f"{rubric}.safetensors"
    return probes.load(file).about if file.is_file() else None


def fit_from_config(data: str | None, out: Path, overrides: Sequence[str]) -> str:
    """Read the labelled texts through the composed model, fit a probe for the composed rubric and
    save it.

    Args:
        data: A file with `text`, `label`, perhaps `author`, `group`, `pair`; None for the shipped
            development texts.
    Returns:
        What the terminal shows: cross-validated figures, where it is and how to use it.
    Raises:
        ConfigError, DataError: Nothing was written.
    """
    from undogmatic.config.build import build, settings
    from undogmatic.config.door import compose_config
    from undogmatic.datasets.tabular import labelled_items, shipped_copies

    if out.suffix != ".safetensors":
        raise ConfigError(f"`--out` is '{out}'; a probe is a .safetensors file.")
    files.check_writable(out)  # before anything is read at length
    chosen = settings(compose_config(overrides))
    rubric: Rubric = build(chosen.rubric, "rubric")
    items = labelled_items(data, rubric)
    _labels(items, rubric)
    model: Model = build(chosen.model, "model")
    if not hasattr(model, "pooled"):
        raise ConfigError(
            f"{model.name} gives no hidden states; a probe needs model=local."
        )
    engine = build(chosen.engine, "engine")
    texts, copies = (
        [shown_text(item, rubric) for item in items],
        shipped_copies(data, rubric, items),
    )
    folding, language = Folding.learnt(texts), chosen.report.language
    about = origin(model, VIEWS) | {"folding": folding}
    with speaking(language):
        if copies is None:
            folded = [folding.read(text) for text in texts]
            probe = fit_probe(
                asyncio.run(read_features(model, folded, VIEWS, engine)),
                items,
                rubric,
                about,
            )
        else:
            # with copies a passage that is said over and over is read once; elsewhere that may be
            # what is judged
            sieve, of_texts, of_copies = read_and_sift(
                model, texts, copies, fold_codes(items)[0], engine, folding
            )
            probe = fit_probe(
                of_texts, items, rubric, about | {"said_once": True}, of_copies, sieve
            )
    probes.save(probe, out)
    told, figures = probe.about, probe.about.figures
    words = Words.about(rubric, language, [TEXTS])
    return "\n".join(
        [
            words.text(
                "probe.fitted",
                rubric=told.rubric,
                model=told.model,
                n=told.n,
                held_out=told.held_out,
            ),
            words.text(
                "probe.follows",
                spearman=figures["spearman"],
                error=figures["mean_absolute_error"],
            ),
            words.text(
                "probe.covered",
                nominal=told.coverage,
                coverage=figures["coverage"],
                width=figures["width"],
            ),
            words.text("probe.written", out=str(out)),
        ]
    )


def read_and_sift(
    model: Any,
    texts: Sequence[str],
    copies: Sequence[str],
    folds: np.ndarray,
    engine: Any,
    folding: Folding,
) -> tuple[Sieve, np.ndarray, np.ndarray]:
    """Read texts and a copy of each by their pieces, and fit a sieve on them (see `sift`)."""
    from threadpoolctl import threadpool_limits

    once = [as_read(text, folding, once=True) for text in (*texts, *copies)]
    n = len(texts)
    readings = asyncio.run(
        read_all(
            model, once, engine, lambda text: probes.text_pieces(model, text, VIEWS)
        )
    )
    with threadpool_limits(1):
        return sift(
            readings[:n], readings[n:], list(map(put_in, once[:n], once[n:])), folds
        )


def origin(model: Any, views: Sequence[View]) -> dict[str, Any]:
    """What the file records of where features came from."""
    import importlib.metadata

    versions = {
        name: importlib.metadata.version(name) for name in ("numpy", "xllamacpp")
    }
    return {
        "model": model.name,
        "model_sha256": model.sha256,
        "views": tuple(views),
        "versions": versions,
    }


async def read_features(
    model: Any, texts: Sequence[str], views: Sequence[View], engine: Any
) -> np.ndarray:
    """All views of all texts, shape (n_texts, n_features), through the engine's cache."""

    async def read(text: str) -> np.ndarray:
        return np.concatenate([await model.pooled(text, view) for view in views])

    return np.stack(await read_all(model, texts, engine, read)).astype(np.float64)


async def read_all(
    model: Any,
    texts: Sequence[str],
    engine: Any,
    read: Callable[[str], Awaitable[Read]],
) -> list[Read]:
    """What `read` gives for each text, with the model connected to the engine's cache; says how far
    it is."""

    cache = engine.connect(model)
    told, readings = time.monotonic(), []
    try:
        for text in texts:
            readings.append(await read(text))
            if time.monotonic() - told > 10:
                told = time.monotonic()
                print(
                    f"  {in_words('read', done=len(readings), total=len(texts))}",
                    file=sys.stderr,
                    flush=True,
                )
    finally:
        await model.close()
        if cache is not None:
            cache.close()
    return readings


def _labels(items: Sequence[Item], rubric: Rubric) -> np.ndarray:
    if len(items) < LEAST:
        raise DataError(f"{len(items)} labelled texts; a probe needs at least {LEAST}.")
    labels = np.array(
        [np.nan if item.label is None else item.label for item in items],
        dtype=np.float64,
    )
    check_labels(items, rubric)
    if np.ptp(labels) == 0:
        raise DataError(
            f"all {len(items)} labels are {labels[0]:g}; a probe needs texts of different scores."
        )
    return labels


def sift(
    of_texts: Sequence[Pieces],
    of_copies: Sequence[Pieces],
    foreign: Sequence[np.ndarray],
    folds: np.ndarray,
) -> tuple[Sieve, np.ndarray, np.ndarray]:
    """Fit a sieve; and give the features of texts and of copies, shape (n_texts, n_features) each,
    by sieves that were fitted without them. `foreign` has the shares of `put_in` per copy, `folds`
    one code per text, shape (n_texts,); every fifth code is left out together."""
    readings = [*of_texts, *of_copies]
    states = np.concatenate([read.states for read in readings]).astype(np.float64)
    # The main directions of the pieces' states, (n_features, n_directions), scaled so that pieces
    # spread alike in each.
    mean, scale = states.mean(axis=0), states.std(axis=0) + 1e-6
    standard = (states - mean) / scale
    n, width = standard.shape
    most = (max(0, width - PIECE_COMPONENTS), width - 1)
    values, vectors = linalg.eigh(standard.T @ standard, subset_by_index=most)
    kept = values > 1e-8 * values[-1]
    directions = vectors[:, kept] / np.sqrt(values[kept] / n) / scale[:, None]
    # what each piece is, and how it differs from the whole text: shape (n_pieces, 2 * n_directions)
    rows = []
    for read in readings:
        alone = (read.states.astype(np.float64) - mean) @ directions
        rows.append(
            np.hstack([alone, alone - np.average(alone, axis=0, weights=read.tokens)])
        )
    pieces = np.vstack(rows)
    share = np.concatenate(
        [*(np.zeros(len(read.tokens)) for read in of_texts), *foreign]
    )
    turns = np.tile(folds % SIEVE_FOLDS, 2)
    turn_of = np.repeat(turns, [len(read.tokens) for read in readings])
    sieves = {
        turn: fit_sieve(
            pieces[turn_of != turn], share[turn_of != turn], mean, directions
        )
        for turn in set(turns.tolist())
    }
    features = np.stack(
        [
            sieves[turn].features(read)
            for turn, read in zip(turns.tolist(), readings, strict=True)
        ]
    )
    return (
        fit_sieve(pieces, share, mean, directions),
        features[: len(of_texts)],
        features[len(of_texts) :],
    )


def fit_sieve(
    rows: np.ndarray, foreign: np.ndarray, mean: np.ndarray, directions: np.ndarray
) -> Sieve:
    """Logistic regression of "this piece belongs to the text", on the `rows` of pieces in main
    directions from a mean and the share of each piece that was put in (`foreign`, shape (n,));
    pieces of both kinds are left out.
    """
    from sklearn.linear_model import LogisticRegression

    clear = (foreign < 0.2) | (foreign > 0.8)
    model = LogisticRegression(C=1 / SIEVE_PENALTY, max_iter=500).fit(
        rows[clear], foreign[clear] < 0.5
    )
    alone, beside = np.split(model.coef_[0], 2)
    piece, whole = directions @ (alone + beside), -directions @ beside
    return Sieve(
        piece, whole, np.array([model.intercept_[0] - mean @ (piece + whole) - DOUBT])
    )


def put_in(text: str, copy: str) -> np.ndarray:
    """The share of each piece of the copy that does not come from the text, shape (n_pieces,)."""
    shorter = min(len(text), len(copy))
    start, back = (
        # what both have in common
        next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), shorter)
        for a, b in ((text, copy), (text[::-1], copy[::-1]))
    )
    end = len(copy) - min(back, shorter - start)
    borders = np.cumsum([0, *map(len, cut(copy))])
    inside = np.clip(borders[1:], start, end) - np.clip(borders[:-1], start, end)
    return np.asarray(inside / np.diff(borders))
