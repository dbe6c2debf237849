"""Counts what can be counted in a text without reading what it argues, and how alike two texts are in that alone.

Counts are of characters, words, sentences, capitals, digits, punctuation and alliteration; words of a field (citations,
say) are counted by whoever knows the field, and come in as `extra`. Eight kernels make a judge of them
(`predict`): curved functions of single counts, added up; products of two counts; steps in several counts
together, as a forest has them; where in the text things stand and how long its words are; how often each character
occurs; TF-IDF of character n-grams; how the text begins and ends, and the order of kinds of sentences; where words of
each ending stand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from undogmatic.stats import checks
from undogmatic.stats.checks import Array, Index, Rng

_PENALTIES = np.logspace(-6, 2, 9)
"""Ridge penalties tried, in units of a kernel's mean eigenvalue: from nearly interpolating to nearly constant."""
_FOLDS, _FEWER_FOLDS = 10, 5
_MANY = 400
FEWEST_GROUPS = 4


def predict(
    kernels: Sequence[Array],
    target: ArrayLike,
    groups: Sequence[object] | ArrayLike,
    rng: Rng,
    *,
    intercept: bool = True,
) -> Array:
    """What the rows of the other groups say of each row, shape (n,).

    Groups are dealt at random to ten folds (five for more than 400 rows). For each fold, one kernel ridge regression
    per kernel is fitted to the other folds, with the penalty that predicts their groups best when left out one at a
    time, and the regressions are stacked with the weights of 0 or more that do so. Nothing has seen the fold that it
    predicts, so that a target that has nothing to do with the kernels is met no more often than by chance.

    Args:
        kernels: Similarities of the rows, each of shape (n, n), positive semidefinite.
        target: Shape (n,).
        groups: Whole groups are left out, shape (n,); with fewer than FEWEST_GROUPS the answer is the mean (or 0).
        intercept: Whether the target has a mean; False for differences whose sign is arbitrary.
    References:
        Cook and Weisberg (1982), Residuals and Influence in Regression, section 3.2, for groups left out in one fit.
        Breiman (1996), Stacked regressions. doi:10.1007/BF00117832
    """
    from scipy.optimize import nnls

    y = checks.vector(target, "target")
    codes = checks.labels(groups, "groups", y.size)
    n_groups = int(codes.max()) + 1
    if n_groups < FEWEST_GROUPS:
        return np.full(y.size, y.mean() if intercept else 0.0)
    folds = rng.permutation(np.arange(n_groups) % min(n_groups, _FOLDS if y.size <= _MANY else _FEWER_FOLDS))[codes]
    out = np.empty(y.size)
    for fold in np.unique(folds):
        test, train = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        centre = float(y[train].mean()) if intercept else 0.0
        tables, known, new = by_size(codes[train]), [], []
        for kernel in kernels:
            own, crossed = kernel[np.ix_(train, train)], kernel[np.ix_(test, train)]
            if intercept:
                columns, whole = own.mean(axis=0)[None, :], float(own.mean())
                crossed = crossed - crossed.mean(axis=1)[:, None] - columns + whole
                own = own - columns - columns.T + whole
            fit = _ridge(own, y[train] - centre, tables, 1 / train.size if intercept else 0.0)
            if fit is not None:
                known.append(fit[0])
                new.append(crossed @ fit[1])
        out[test] = centre
        if known:
            weights, _ = nnls(np.column_stack(known), y[train] - centre)
            out[test] = centre + np.column_stack(new) @ weights
    return out


def by_size(codes: Index) -> list[Index]:
    """Positions of the rows of groups of one size, one table of shape (n_groups, size) per size."""
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    first = np.cumsum(sizes) - sizes
    return [order[first[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes).tolist() if size]


def _ridge(kernel: Array, y: Array, tables: list[Index], of_mean: float) -> tuple[Array, Array] | None:
    """The regression whose penalty predicts groups left out best: what the others say of each row, and the weights of
    the rows in what is said of new ones. None where the kernel tells no two rows apart.

    A group's residual when it is left out is its residual times the inverse of (1 minus its block of the hat matrix);
    `of_mean` is what the mean adds to that matrix.
    """
    values, vectors = np.linalg.eigh((kernel + kernel.T) / 2)
    values = np.clip(values, 0.0, None)
    if values.max() <= 1e-12:
        return None
    in_basis = vectors.T @ y
    penalties = _PENALTIES * values.mean()
    shrunk = values / (values + penalties[:, None])
    residual = y - (shrunk * in_basis) @ vectors.T
    missed = np.empty_like(residual)  # by the regression without the row's group: one row per penalty
    for table in tables:
        rows = vectors[table]
        own = (rows * shrunk[:, None, None, :]) @ rows.transpose(0, 2, 1) + of_mean
        left = np.eye(table.shape[1]) * (1 + 1e-9) - own
        missed[:, table] = np.linalg.solve(left, residual[:, table, None])[..., 0]
    best = int(np.argmin(np.sum(missed**2, axis=1)))
    return y - missed[best], vectors @ (in_basis / (values + penalties[best]))


KERNELS = 8
"""How many kinds of likeness `kernels` gives."""

_QUOTES = "\"'“”‘’«»"
_HYPHENS = "-–—"
_SENTENCE_END = re.compile(r"[.!?…]+(?:\s+|$)")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d[\d.,/]*")
_KNOTS = 8
_FARTHEST = 4.0
_CHARACTERS = (2, 5)
_LONG_WORD = 12
_SHORT_WORD, _ENDING = 3, 3
_REACH = 0.4


def counts(texts: Sequence[str], extra: Array | None = None) -> Array:
    """Shape (n_texts, len(COUNTS) + columns of `extra`)."""
    table = np.array([[*_count(text).values()] for text in texts], dtype=np.float64).reshape(len(texts), len(COUNTS))
    return table if extra is None else np.column_stack([table, extra])


def kernels(texts: Sequence[str], extra: Array | None = None) -> list[Array]:
    """Similarities of the texts in their surface, eight of shape (n_texts, n_texts). Time grows with the square."""
    from scipy.spatial.distance import cdist
    from scipy.stats import rankdata

    x = counts(texts, extra)
    ranks = rankdata(x, axis=0) / max(1, len(x))
    scaled = np.clip(_standard(x), -_FARTHEST, _FARTHEST)
    products = (1 + scaled @ scaled.T / max(1, scaled.shape[1])) ** 2
    places = np.array([_places(text) for text in texts], dtype=np.float64)
    return [
        additive(x),
        products,
        # Laplace's kernel of the ranks of the counts, which a forest's shares of common leaves tend to.
        np.exp(-cdist(ranks, ranks, "cityblock") / (x.shape[1] * _REACH)),
        additive(places),
        _characters(texts),
        _tfidf(texts),
        *(_linear([of(text) for text in texts]) for of in (_ends, _endings)),
    ]


def additive(x: Array) -> Array:
    """Similarity for sums of curved functions of the columns of `x` (shape (n, k)), shape (n, n)."""
    columns = bent(x)
    return np.asarray(columns @ columns.T)


def bent(x: Array) -> Array:
    """Columns whose sums are curved functions: those of `x` (shape (n, k)), each also bent at up to eight quantiles,
    standardised; shape (n, at most 9 k)."""
    columns = []
    for column in x.T:
        knots = np.unique(np.quantile(column, np.linspace(0, 1, _KNOTS + 2)[1:-1]))
        columns += [column, *(np.maximum(0, column - knot) for knot in knots if knot < column.max())]
    return _standard(np.column_stack(columns))


def contrast(kernel: Array, first: Index, second: Index) -> Array:
    """The kernel of pairs: similarity of (first minus second) with (first minus second), shape (n_pairs, n_pairs)."""
    crossed = kernel[np.ix_(first, second)]
    return np.asarray(kernel[np.ix_(first, first)] - crossed - crossed.T + kernel[np.ix_(second, second)])


def _count(text: str) -> dict[str, float]:
    words = _WORD.findall(text)
    sentences = [part for part in _SENTENCE_END.split(text) if part.strip()]
    lengths = [len(_WORD.findall(part)) for part in sentences]
    capitals = sum(c.isupper() for c in text)
    digits = sum(c.isdigit() for c in text)
    marks = Counter(c for c in text if not c.isalnum() and not c.isspace())
    named = {
        "commas": marks[","],
        "full_stops": marks["."],
        "parentheses": marks["("] + marks[")"],
        "quotes": sum(marks[c] for c in _QUOTES),
        "colons": marks[":"] + marks[";"],
        "hyphens": sum(marks[c] for c in _HYPHENS),
    }
    return {
        "characters": len(text),
        "words": len(words),
        "sentences": len(sentences),
        "lines": text.count("\n") + 1,
        "word_length": sum(map(len, words)) / max(1, len(words)),
        "longest_word": max(map(len, words), default=0),
        "sentence_length": sum(lengths) / max(1, len(lengths)),
        "longest_sentence": max(lengths, default=0),
        "capitals": capitals,
        "capitals_share": capitals / max(1, len(text)),
        "capital_words": sum(word[0].isupper() for word in words),
        "digits": digits,
        "numbers": len(_NUMBER.findall(text)),
        **named,
        "other_marks": sum(marks.values()) - sum(named.values()),
        "different_words": len({word.lower() for word in words}) / max(1, len(words)),
        "different_characters": len(set(text.lower())),
        "alliteration": sum(one[0].lower() == other[0].lower() for one, other in pairwise(words)) / max(1, len(words)),
    }


COUNTS = tuple(_count(""))
"""What `counts` counts, in this order."""


def _places(text: str) -> list[float]:
    """Where the first comma, stop, digit, capital (after the beginning), parenthesis, quote and colon stand (the end if
    nowhere), how long the first and last sentence are, and the share of words of each length."""
    kinds = ",".__eq__, ".".__eq__, str.isdigit, str.isupper, "(".__eq__, _QUOTES.__contains__, ":;".__contains__
    ends = [next((n for n, c in enumerate(text[1:], 1) if known(c)), len(text)) for known in kinds]
    sentences = [part for part in _SENTENCE_END.split(text) if part.strip()] or [""]
    lengths = np.array([len(word) for word in _WORD.findall(text)], dtype=np.intp)
    of_each = np.bincount(np.minimum(lengths, _LONG_WORD), minlength=_LONG_WORD + 1)[1:] / max(1, lengths.size)
    return [*ends, len(sentences[0]), len(sentences[-1]), *of_each.tolist(), *np.cumsum(of_each).tolist()]


def _standard(x: Array) -> Array:
    spread = x.std(axis=0)
    return np.asarray((x - x.mean(axis=0)) / np.where(spread > 1e-12, spread, np.inf))


def _characters(texts: Sequence[str]) -> Array:
    from sklearn.feature_extraction.text import CountVectorizer

    try:
        found = CountVectorizer(analyzer="char", min_df=min(2, len(texts))).fit_transform(texts)
        bag = found.toarray().astype(np.float64)
    except ValueError:  # no character occurs in two texts
        return np.zeros((len(texts), len(texts)))
    shares = bag / np.maximum(1, bag.sum(axis=1))[:, None]
    scaled = np.clip(_standard(np.column_stack([bag, shares])), -_FARTHEST, _FARTHEST)
    return np.asarray(scaled @ scaled.T)


def _linear(marked: Sequence[dict[str, float]]) -> Array:
    """Linear in named marks of the texts; one that is in no two texts tells nothing of another."""
    from sklearn.feature_extraction import DictVectorizer

    table = DictVectorizer(sparse=False).fit_transform(marked)
    often = np.count_nonzero(table, axis=0) >= min(2, len(marked))
    scaled = np.clip(_standard(table[:, often]), -_FARTHEST, _FARTHEST)
    return np.asarray(scaled @ scaled.T / max(1, scaled.shape[1]))


def _ends(text: str) -> dict[str, float]:
    """What stands first and last: words, letters, endings; and the order of the kinds of sentences."""
    words = [word.lower() for word in _WORD.findall(text)]
    if not words:
        return {}
    marks: dict[str, float] = {f"first {words[0]}": 1, f"last {words[-1]}": 1, f"begins {words[0][0]}": 1}
    marks |= {f"first ends {words[0][-2:]}": 1, f"last begins {words[-1][:2]}": 1, f"last ends {words[-1][-2:]}": 1}
    kinds = "".join(end.strip()[0] for end in _SENTENCE_END.findall(text) if end.strip())
    marks |= {f"kinds {kinds[:3]}": 1, f"ends on {kinds[-1:]}": 1}
    return marks


def _endings(text: str) -> dict[str, float]:
    """Where each ending of a word first stands, counted from the end of the text; endings tell parts of speech."""
    words = [word.lower() for word in _WORD.findall(text) if len(word) > _SHORT_WORD]
    marks: dict[str, float] = {}
    for place, word in enumerate(words):
        marks.setdefault(word[-_ENDING:], 1 - place / len(words))
    return marks


def _tfidf(texts: Sequence[str]) -> Array:
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        table = TfidfVectorizer(
            analyzer="char_wb", ngram_range=_CHARACTERS, sublinear_tf=True, min_df=min(2, len(texts))
        ).fit_transform(texts)
    except ValueError:  # no n-gram occurs in two texts
        return np.zeros((len(texts), len(texts)))
    return np.asarray((table @ table.T).toarray(), dtype=np.float64)
