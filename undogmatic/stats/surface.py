"""Counts what can be counted in a text without reading what it argues, and how alike two texts are
in that alone.

Counts are of characters, words, sentences, capitals, digits, punctuation and alliteration; words of
a field (citations, say) are counted by whoever knows the field, and come in as `extra`. Eight
kernels make a judge of them (`predict`): curved functions of single counts, added up; products of
two counts; steps in several counts together, as a forest has them; where in the text things stand
and how long its words are; how often each character occurs; TF-IDF of character n-grams; how the
text begins and ends, and the order of kinds of sentences; where words of each ending stand.

Copies and near-copies (`copies`) are found in time and memory that grow with the texts, not with
their pairs.
"""

import functools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import compress, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from undogmatic.stats import checks
from undogmatic.stats.checks import Array, Index, Labels, Rng

FEWEST_GROUPS = 4


def predict(
    kernels: Sequence[Array],
    target: ArrayLike,
    groups: Labels,
    rng: Rng,
    *,
    intercept: bool = True,
) -> Array:
    """What the rows of the other groups say of each row, shape (n,).

    Groups are dealt at random to ten folds (five for more than 400 rows). For each fold, one kernel
    ridge regression per kernel is fitted to the other folds, with the penalty that predicts their
    groups best when left out one at a time, and the regressions are stacked with the weights of 0
    or more that do so. Nothing has seen the fold that it predicts, so that a target that has
    nothing to do with the kernels is met no more often than by chance.

    Args:
        kernels: Similarities of the rows, each of shape (n, n), positive semidefinite.
        groups: Whole groups are left out, shape (n,); with fewer than FEWEST_GROUPS the answer is
            the mean (or 0).
        intercept: Whether the target has a mean; False for differences whose sign is arbitrary.
    References:
        Cook and Weisberg (1982), Residuals and Influence in Regression, section 3.2, for groups
        left out in one fit. Breiman (1996), Stacked regressions. doi:10.1007/BF00117832
    """
    from threadpoolctl import threadpool_limits

    y = checks.vector(target, "target")
    codes = checks.labels(groups, "groups", y.size)
    n_groups = int(codes.max()) + 1
    if n_groups < FEWEST_GROUPS:
        return np.full(y.size, y.mean() if intercept else 0.0)
    # Each fold costs the cube of its rows in time, so that many rows are left out in
    # fewer folds.
    n_folds = min(n_groups, 10 if y.size <= 400 else 5)
    # As many groups in one fold as in another, whichever they are.
    fold_of_group = rng.permutation(np.arange(n_groups) % n_folds)
    folds = fold_of_group[codes]
    # With two threads and another program on the machine, the eigenvectors of 360 rows took 2.0
    # seconds of a processor; with one thread they take 0.02.
    with threadpool_limits(1, "blas"):
        return _stacked(kernels, y, codes, folds, intercept)


def _stacked(
    kernels: Sequence[Array], y: Array, codes: Index, folds: Index, intercept: bool
) -> Array:
    """What stacked regressions on the other folds say of each row, shape (n,)."""
    from scipy.optimize import nnls

    out = np.empty(y.size)
    for fold in np.unique(folds):
        test = np.flatnonzero(folds == fold)
        train = np.flatnonzero(folds != fold)
        centre = float(y[train].mean()) if intercept else 0.0
        centred = y[train] - centre
        of_mean = 1 / train.size if intercept else 0.0
        tables = by_size(codes[train])
        of_train = []
        of_test = []
        for kernel in kernels:
            within = kernel[np.ix_(train, train)]
            crossed = kernel[np.ix_(test, train)]
            if intercept:
                # As if the mean of the training rows had been taken off the features that
                # the kernel stands for.
                columns = within.mean(axis=0)[None, :]
                whole = float(within.mean())
                crossed = crossed - crossed.mean(axis=1)[:, None] - columns + whole
                within = within - columns - columns.T + whole
            fit = _ridge(within, centred, tables, of_mean)
            if fit is not None:
                said_by_others, weights_of_rows = fit
                of_train.append(said_by_others)
                of_test.append(crossed @ weights_of_rows)
        out[test] = centre
        # No kernel tells the rows apart.
        if not of_train:
            continue
        # No weight is negative: a kernel whose opposite foretells the target does
        # so by chance.
        weights, _ = nnls(np.column_stack(of_train), centred)
        stacked = np.column_stack(of_test) @ weights
        out[test] = centre + stacked
    return out


def by_size(codes: Index) -> list[Index]:
    """Positions of the rows of groups of one size, one table of shape (n_groups, size) per size."""
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    first = np.cumsum(sizes) - sizes
    return [
        order[first[sizes == size][:, None] + np.arange(size)]
        for size in np.unique(sizes).tolist()
        if size
    ]


def _ridge(
    kernel: Array, y: Array, tables: list[Index], of_mean: float
) -> tuple[Array, Array] | None:
    """The regression whose penalty predicts groups left out best: what the others say of each row,
    and the weights of the rows in what is said of new ones. None where the kernel tells no two rows
    apart.

    A group's residual when it is left out is its residual times the inverse of (1 minus its block
    of the hat matrix); `of_mean` is what the mean adds to that matrix.
    """
    # Rounding leaves a kernel a little unlike its mirror image, and with values below 0.
    symmetric = (kernel + kernel.T) / 2
    values, vectors = np.linalg.eigh(symmetric)
    values = np.clip(values, 0.0, None)
    # All texts are the same to this kernel.
    if values.max() <= 1e-12:
        return None
    in_basis = vectors.T @ y
    # from nearly interpolating to nearly constant
    # How rough the truth is cannot be known beforehand; the groups that are left out
    # choose.
    penalties = np.logspace(-6, 2, 9) * values.mean()
    shrunk = values / (values + penalties[:, None])
    residual = y - (shrunk * in_basis) @ vectors.T
    # by the regression without the row's group: one row per penalty
    missed = np.empty_like(residual)
    for table in tables:
        size = table.shape[1]
        rows = vectors[table]
        shrunk_rows = rows * shrunk[:, None, None, :]
        own = shrunk_rows @ rows.transpose(0, 2, 1) + of_mean
        # What a group alone can tell, nothing tells without it: 0, which could not be divided by.
        left = np.eye(size) * (1 + 1e-9) - own
        solved = np.linalg.solve(left, residual[:, table, None])
        missed[:, table] = solved[..., 0]
    square_of_penalty = np.sum(missed**2, axis=1)
    best = int(np.argmin(square_of_penalty))
    shrunk_by_best = in_basis / (values + penalties[best])
    return y - missed[best], vectors @ shrunk_by_best


KERNELS = 8
"""How many kinds of likeness `kernels` gives."""

_QUOTES = "\"'“”‘’«»"
_HYPHENS = "-–—"
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++(?:\s+|$)")
_WORD = re.compile(r"\w+")
_LONG_WORD = 12


def counts(texts: Sequence[str], extra: Array | None = None) -> Array:
    """Shape (n_texts, len(COUNTS) + columns of `extra`)."""
    rows = [list(_count(text).values()) for text in texts]
    # No texts have no row, and still so many columns.
    shape = len(texts), len(COUNTS)
    table = np.array(rows, dtype=np.float64).reshape(shape)
    if extra is None:
        return table
    return np.column_stack([table, extra])


def kernels(texts: Sequence[str], extra: Array | None = None) -> list[Array]:
    """Similarities of the texts in their surface, KERNELS of shape (n_texts, n_texts). Time grows
    with the square."""
    from scipy.spatial.distance import cdist

    x = counts(texts, extra)
    ranks = checks.ranks(x, axis=0) / max(1, len(x))
    return [
        additive(x),
        (1 + _products(x) / max(1, x.shape[1])) ** 2,
        # Laplace's kernel of the ranks of the counts, which a forest's shares of common leaves tend
        # to.
        np.exp(-cdist(ranks, ranks, "cityblock") / (x.shape[1] * 0.4)),
        additive(np.array([_places(text) for text in texts], dtype=np.float64)),
        _characters(texts),
        _tfidf(texts),
        *(_linear([of(text) for text in texts]) for of in (_ends, _endings)),
    ]


def additive(x: Array) -> Array:
    """Similarity for sums of curved functions of the columns of `x` (shape (n, k)), shape (n,
    n)."""
    columns = bent(x)
    return np.asarray(columns @ columns.T)


def bent(x: Array) -> Array:
    """Columns whose sums are curved functions: those of `x` (shape (n, k)), each also bent at up to
    eight quantiles, standardised; shape (n, at most 9 k)."""
    columns = []
    inner_tenths = np.linspace(0, 1, 10)[1:-1]
    for column in x.T:
        knots = np.unique(np.quantile(column, inner_tenths))
        columns.append(column)
        # Beyond the largest value nothing bends.
        for knot in knots[knots < column.max()]:
            columns.append(np.maximum(0, column - knot))
    return _standard(np.column_stack(columns))


def contrast(kernel: Array, first: Index, second: Index) -> Array:
    """The kernel of pairs: similarity of (first minus second) with (first minus second), shape
    (n_pairs, n_pairs)."""
    of_first = kernel[np.ix_(first, first)]
    of_second = kernel[np.ix_(second, second)]
    crossed = kernel[np.ix_(first, second)]
    return np.asarray(of_first - crossed - crossed.T + of_second)


def _count(text: str) -> dict[str, float]:
    words = _WORD.findall(text)
    n_words = max(1, len(words))
    sentences = [part for part in _SENTENCE_END.split(text) if part.strip()]
    lengths = [len(_WORD.findall(part)) for part in sentences]
    capitals = sum(sign.isupper() for sign in text)
    digits = sum(sign.isdigit() for sign in text)
    marks: Counter[str] = Counter()
    for sign, n in Counter(text).items():
        if not sign.isalnum() and not sign.isspace():
            marks[sign] = n
    beginnings = [word[0].lower() for word in words]
    alike = sum(one == other for one, other in pairwise(beginnings))
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
        "word_length": sum(map(len, words)) / n_words,
        "longest_word": max(map(len, words), default=0),
        "sentence_length": sum(lengths) / max(1, len(lengths)),
        "longest_sentence": max(lengths, default=0),
        "capitals": capitals,
        "capitals_share": capitals / max(1, len(text)),
        "capital_words": sum(word[0].isupper() for word in words),
        "digits": digits,
        "numbers": len(re.findall(r"\d[\d.,/]*", text)),
        **named,
        "other_marks": sum(marks.values()) - sum(named.values()),
        "different_words": len({word.lower() for word in words}) / n_words,
        "different_characters": len(set(text.lower())),
        "alliteration": alike / n_words,
    }


COUNTS = tuple(_count(""))
"""What `counts` counts, in this order."""


def _places(text: str) -> list[float]:
    """Where the first comma, stop, digit, capital (after the beginning), parenthesis, quote and
    colon stand (the end if nowhere), how long the first and last sentence are, and the share of
    words of each length."""
    kinds = (
        ",".__eq__,
        ".".__eq__,
        str.isdigit,
        str.isupper,
        "(".__eq__,
        _QUOTES.__contains__,
        ":;".__contains__,
    )
    sentences = [part for part in _SENTENCE_END.split(text) if part.strip()]
    if not sentences:
        sentences = [""]
    words = _WORD.findall(text)
    lengths = np.array([len(word) for word in words], dtype=np.intp)
    # Longer words than these are so rare that each length would be a column of its own.
    lengths_cut = np.minimum(lengths, _LONG_WORD)
    of_each = np.bincount(lengths_cut, minlength=_LONG_WORD + 1)[1:]
    shares = of_each / max(1, lengths.size)
    return [
        *(_first_place(text, known) for known in kinds),
        len(sentences[0]),
        len(sentences[-1]),
        *shares.tolist(),
        *np.cumsum(shares).tolist(),
    ]


def _first_place(text: str, known: Callable[[str], bool]) -> int:
    """Where the first such character stands after the beginning; the end if there is none.

    The first character of all is left out, as nearly every text begins with a capital.
    """
    after = enumerate(text[1:], 1)
    return next((place for place, sign in after if known(sign)), len(text))


def _standard(x: Array) -> Array:
    spread = x.std(axis=0)
    # What is the same in all texts becomes 0, where it would be 0 / 0.
    divisor = np.where(spread > 1e-12, spread, np.inf)
    return np.asarray((x - x.mean(axis=0)) / divisor)


def _products(x: Array) -> Array:
    """Products of rows whose columns are standardised and cut off, shape (n, n)."""
    scaled = np.clip(_standard(x), -4.0, 4.0)
    return np.asarray(scaled @ scaled.T)


def _counted(vectorizer: Any, texts: Sequence[str]) -> Any:
    """What a vectorizer finds in two texts at least, as a sparse table; without columns where
    nothing is."""
    from scipy import sparse

    try:
        return vectorizer.set_params(min_df=min(2, len(texts))).fit_transform(texts)
    except ValueError:
        return sparse.csr_matrix((len(texts), 0))


def _characters(texts: Sequence[str]) -> Array:
    from sklearn.feature_extraction.text import CountVectorizer

    found = _counted(CountVectorizer(analyzer="char"), texts)
    bag = found.toarray().astype(np.float64)
    lengths = np.maximum(1, bag.sum(axis=1))
    # Both how many there are, which grows with the text, and which share they have.
    return _products(np.column_stack([bag, bag / lengths[:, None]]))


def _linear(marked: Sequence[dict[str, float]]) -> Array:
    """Linear in named marks of the texts; one that is in no two texts tells nothing of another."""
    from sklearn.feature_extraction import DictVectorizer

    table = DictVectorizer(sparse=False).fit_transform(marked)
    often = np.count_nonzero(table, axis=0) >= min(2, len(marked))
    alike = _products(table[:, often])
    return np.asarray(alike / max(1, often.sum()))


def _ends(text: str) -> dict[str, float]:
    """What stands first and last: words, letters, endings; and the order of the kinds of
    sentences."""
    words = [word.lower() for word in _WORD.findall(text)]
    if not words:
        return {}
    first, last = words[0], words[-1]
    ends = [end.strip() for end in _SENTENCE_END.findall(text)]
    kinds = "".join(end[0] for end in ends if end)
    return {
        f"first {first}": 1,
        f"last {last}": 1,
        f"begins {first[0]}": 1,
        f"first ends {first[-2:]}": 1,
        f"last begins {last[:2]}": 1,
        f"last ends {last[-2:]}": 1,
        f"kinds {kinds[:3]}": 1,
        f"ends on {kinds[-1:]}": 1,
    }


def _endings(text: str) -> dict[str, float]:
    """Where each ending of a word first stands, counted from the end of the text; endings tell
    parts of speech."""
    words = [word.lower() for word in _WORD.findall(text) if len(word) > 3]
    return {
        word[-3:]: 1 - place / len(words)
        for place, word in reversed(list(enumerate(words)))
    }


def _tfidf(texts: Sequence[str]) -> Array:
    from sklearn.feature_extraction.text import TfidfVectorizer

    by_ngrams = TfidfVectorizer(
        analyzer="char_wb",
        ngram_range=(2, 5),
        sublinear_tf=True,
    )
    table = _counted(by_ngrams, texts)
    return np.asarray((table @ table.T).toarray(), dtype=np.float64)


SHINGLE = 8
"""Letters and digits in a row that are compared at a time."""
ALIKE = 0.4
"""Least resemblance of a near-copy. A copy in which one word in five was replaced has about 0.41,
one in ten 0.63 (200 curated texts); the most alike of the 1.3 million pairs of curated texts, two
formulas of one office, have 0.38, and 99.99 % of them at most 0.10."""
FEWEST_SHINGLES = 40
"""A text with fewer different shingles says too little for likeness to mean copying; it must be the
same."""

# Texts of resemblance 0.4 fall together in at least one band with probability 0.94, those of 0.5
# with 0.996.
_BAND = 3
_BANDS = 42
Hashes = NDArray[np.uint32]
_ANY: Hashes = np.random.default_rng(0).integers(
    2**31, size=(_BAND * _BANDS, 1), dtype=np.uint32
)
# A factor that is odd gives each number modulo 2^32 another one, so that no two shingles fall
# together that did not before.
_FACTORS: Hashes = _ANY * 2 + 1


def letters(text: str) -> str:
    """The text without case, accents, spaces and punctuation; where nothing is left, as it is."""
    if text.isascii():  # the same in a third of the time
        return text.lower().translate(_NO_LETTERS) or text.strip()
    return (
        re.sub(r"[\W_]+", "", unicodedata.normalize("NFKD", text).casefold())
        or text.strip()
    )


_NO_LETTERS = dict.fromkeys(code for code in range(128) if not chr(code).isalnum())


def copies(texts: tuple[str, ...]) -> tuple[int, ...]:
    """Which texts are copies or near-copies of which: for each the place of the first text of its
    cluster.

    Texts with the same letters and digits are copies. Near-copies share at least ALIKE of their
    shingles, each counted once, estimated by MinHash with a standard error of 0.044; the order of
    sentences hardly matters, and what is added to one counts against it. Clusters are joined: a
    near-copy of a near-copy belongs to both. The order of the texts has no influence on who belongs
    together. The answers to the last few calls are kept, but for many texts, which would stay in
    memory with them.

    References:
        Broder (1997), On the resemblance and containment of documents.
        doi:10.1109/SEQUEN.1997.666900
    """
    return (_copies_kept if len(texts) <= _KEPT else _copies)(texts)


_KEPT = 20_000


def _copies(texts: tuple[str, ...]) -> tuple[int, ...]:
    forms = [letters(text) for text in texts]
    distinct = sorted(set(forms))
    places, signatures = _signatures(distinct)
    cluster = np.arange(len(distinct))
    cluster[places] = places[_clusters(signatures)]
    of_form = dict(zip(distinct, cluster.tolist(), strict=True))
    first: dict[int, int] = {}
    return tuple(
        first.setdefault(of_form[form], place) for place, form in enumerate(forms)
    )


_copies_kept = functools.lru_cache(maxsize=8)(_copies)


SIGNATURE = _BAND * _BANDS
"""How many numbers the signature of a text has."""

EDITED = 0.25
"""Least resemblance of two versions of a text in which a part was rewritten. Of restaurant reviews
in which what is said of one aspect was turned round, half of the versions have at least 0.45 and
nine in ten at least 0.2; 99.99 % of the pairs of other reviews have at most 0.2."""
FEWEST_EDITED = 20
"""A text with fewer different shingles, about five words, has no versions."""
LARGEST_EDITED = 0.1
"""Versions come in handfuls. Where more than this share of the texts hang together, they share a
formula, and what each says besides is its own."""


def versions(texts: Sequence[str]) -> Index:
    """Which texts are versions of which, of which parts were rewritten: a number for each cluster.

    They share at least EDITED of their shingles, fewer than near-copies do (`copies`). Every text
    is compared with every other, so this is for the few thousand that are looked at at a time. A
    cluster that holds more than LARGEST_EDITED of the texts is none.
    """
    from scipy import sparse

    n_texts = len(texts)
    places, known = signatures(texts, FEWEST_EDITED)
    # A quarter of the bytes to read; by chance one in 256 agrees, far from EDITED.
    rough = _lowest_bytes(known)[:, :SIGNATURE]
    least = EDITED * SIGNATURE
    links = []
    for row, place in enumerate(places):
        agreeing = np.count_nonzero(rough[:row] == rough[row], axis=1)
        earlier = places[:row][agreeing >= least]
        links += [(place, other) for other in earlier]
    one, other = np.array(links, dtype=np.intp).reshape(-1, 2).T
    weights = np.ones(one.size)
    tied = sparse.coo_matrix((weights, (one, other)), (n_texts, n_texts))
    _, cluster = sparse.csgraph.connected_components(tied, directed=False)
    size = np.bincount(cluster)[cluster]
    large = size > LARGEST_EDITED * n_texts
    # Numbers that no cluster has: each of these texts is by itself.
    alone = np.flatnonzero(large)
    cluster[large] = n_texts + alone
    return np.asarray(cluster, dtype=np.intp)


def signatures(
    texts: Sequence[str], fewest: int = FEWEST_SHINGLES
) -> tuple[Index, Hashes]:
    """What near-copies are known by: the smallest shingle in each of several orders of all.

    Returns:
        The places of the texts that say enough (`fewest` different shingles), shape (n_places,),
        and the numbers of each, shape (n_places, SIGNATURE).
    """
    return _signatures([letters(text) for text in texts], fewest)


_RUN, _FEWEST_TEXTS, _SAMPLED, _SHARED_BY = 10, 10, 400, 0.4


def without_shared(texts: Sequence[str]) -> list[str]:
    """The texts without what two fifths or more of the different ones share: a prompt that stands
    before them, examples, a closing line. It says nothing of whether two of them are copies.

    What is shared are runs of ten words, found in a sample of the texts; a word is left out where
    most of the runs that it stands in are shared, so that next to a prompt the first words of a
    question stay. Where a text has nothing else that could be compared, it stays whole.
    """
    distinct = list(dict.fromkeys(texts))
    if len(distinct) < _FEWEST_TEXTS:
        return list(texts)
    step = max(1, len(distinct) // _SAMPLED)
    sample = distinct[::step]
    n_texts_with: Counter[int] = Counter()
    for text in sample:
        # Once for each text: one that says the same ten times shares it with nobody.
        n_texts_with.update(set(_runs(text.split())))
    least = _SHARED_BY * len(sample)
    shared = {run for run, n in n_texts_with.items() if n >= least}
    if not shared:
        return list(texts)
    known = {text: _without(text, shared) for text in distinct}
    return [known[text] for text in texts]


def _runs(words: Sequence[str]) -> list[int]:
    """A hash of each run of so many words, in order."""
    n_runs = len(words) - _RUN + 1
    runs = (tuple(words[at : at + _RUN]) for at in range(n_runs))
    return [hash(run) for run in runs]


def _without(text: str, shared: set[int]) -> str:
    words = text.split()
    of_all = np.zeros(len(words))
    of_shared = np.zeros(len(words))
    for at, run in enumerate(_runs(words)):
        of_all[at : at + _RUN] += 1
        of_shared[at : at + _RUN] += run in shared
    mostly_own = of_shared * 2 < of_all
    # A text of fewer words than a run has none that could be shared.
    in_no_run = of_all == 0
    rest = " ".join(compress(words, mostly_own | in_no_run))
    return rest if letters(rest) else text


def enough(text: str) -> bool:
    """Whether a text says enough for likeness to mean copying: it has FEWEST_SHINGLES of them."""
    different = np.unique(_shingles(letters(text)))
    return len(different) >= FEWEST_SHINGLES


_LETTERS = 2**16
"""Letters whose shingles are held at once; more if a single text has more."""


def _signatures(
    forms: Sequence[str], fewest: int = FEWEST_SHINGLES
) -> tuple[Index, Hashes]:
    """The places of the texts that say enough, and the signature of each, shape (n_places,
    SIGNATURE)."""
    lengths = np.fromiter(map(len, forms), np.intp, len(forms))
    n_shingles = lengths - (SHINGLE - 1)
    long = np.flatnonzero(n_shingles >= fewest)
    places = np.empty(long.size, dtype=np.intp)
    signatures: Hashes = np.empty((long.size, SIGNATURE), dtype=np.uint32)
    n = 0
    part_of_text = np.cumsum(n_shingles[long]) // _LETTERS
    ends = np.flatnonzero(np.diff(part_of_text)) + 1
    for part in np.split(long, ends) if long.size else ():
        sizes = n_shingles[part]
        joined = "".join([forms[place] for place in part.tolist()])
        shingled = _shingles(joined)
        # Without those that begin in one text and end in the next.
        within = np.repeat(
            np.tile([True, False], part.size),
            np.column_stack([sizes, sizes * 0 + SHINGLE - 1]).ravel(),
        )
        shingled = shingled[within[: shingled.size]]
        enough = _different(shingled, sizes) >= fewest
        end = n + int(enough.sum())
        begins = np.cumsum(sizes) - sizes
        for column, factor in enumerate(_FACTORS.ravel()):
            smallest = np.minimum.reduceat(shingled * factor, begins)
            signatures[n:end, column] = smallest[enough]
        places[n:end] = part[enough]
        n = end
    return places[:n], signatures[:n]


def _different(shingled: Hashes, sizes: Index) -> Index:
    """How many different shingles each of some texts has, of which one stands behind the other."""
    # The text in the upper half of a number and its shingle in the lower one: a single sort puts
    # the same shingles of one text beside each other.
    half = np.uint64(32)
    texts = np.arange(sizes.size, dtype=np.uint64) << half
    ordered = np.sort(np.repeat(texts, sizes) | shingled)
    first = np.append(True, ordered[1:] != ordered[:-1])
    text_of_first = (ordered[first] >> half).astype(np.intp)
    return np.bincount(text_of_first, minlength=sizes.size)


def _shingles(form: str) -> Hashes:
    """A hash of every shingle of a text, in order."""
    # JSON that was cut may leave half of a sign, a lone surrogate, which strict encoding refuses.
    encoded = form.encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(encoded, dtype=np.uint32)
    n_shingles = max(0, codes.size - SHINGLE + 1)
    hashes = np.zeros(n_shingles, dtype=np.uint32)
    # The factor is the prime of FNV for 32 bits.
    for place in range(SHINGLE if n_shingles else 0):
        hashes = hashes * np.uint32(0x01000193) + codes[place : place + n_shingles]
    # The last steps of MurmurHash3: what differs little shall not be near in order.
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        mixed = hashes ^ (hashes >> np.uint32(shift))
        hashes = mixed * np.uint32(factor)
    return np.asarray(hashes ^ (hashes >> np.uint32(16)))


def _clusters(signatures: Hashes) -> Index:
    """For each row the place of a row that stands for its cluster of near-copies.

    Band after band, so that no more is held than the rows: pairs whose rows are in one cluster
    already are not compared again, however many copies there are of one text.
    """
    from scipy import sparse

    cluster = np.arange(len(signatures))
    rough = _lowest_bytes(signatures)
    for band in range(BANDS if len(signatures) > 1 else 0):
        pairs = np.stack(fallen_together(banded(signatures, band)))
        one_cluster, other_cluster = cluster[pairs]
        pairs = pairs[:, one_cluster != other_cluster]
        near = np.empty(pairs.shape[1], dtype=bool)
        for start in range(0, near.size, _PAIRS):
            one, other = pairs[:, start : start + _PAIRS]
            maybe = _maybe_alike(rough[one], rough[other])
            signed_one = signatures[one[maybe]]
            signed_other = signatures[other[maybe]]
            maybe[maybe] = alike(signed_one, signed_other)
            near[start : start + _PAIRS] = maybe
        if near.any():
            tied = cluster[pairs[:, near]]
            weights = np.ones(tied.shape[1])
            shape = len(cluster), len(cluster)
            links = sparse.coo_matrix((weights, tied), shape=shape)
            _, component = sparse.csgraph.connected_components(links, directed=False)
            # The first row of a component stands for all of it.
            _, heads, number = np.unique(
                component, return_index=True, return_inverse=True
            )
            cluster = heads[number][cluster]
    return cluster


_PAIRS = 2**15  # that are compared at once


def _lowest_bytes(signatures: Hashes) -> NDArray[np.uint8]:
    """The lowest byte of each number, and zeros up to a whole number of words of eight bytes."""
    n_bytes = math.ceil(SIGNATURE / 8) * 8
    rough = np.zeros((len(signatures), n_bytes), dtype=np.uint8)
    rough[:, :SIGNATURE] = signatures & np.uint32(255)
    return rough


def _maybe_alike(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which rows agree in so many of their lowest bytes that they may be `alike`: where numbers are
    the same their lowest bytes are, and a quarter of what else there is to read says of most pairs
    that they are not.
    """
    # Eight bytes of 0 and 1 are added up at a time; no sum of at most 255 words runs over into the
    # next byte.
    same = (one == other).view(np.uint64).sum(axis=1)
    by_byte = same.view(np.uint8).reshape(len(one), 8)
    # The zeros that fill the last word up agree always.
    filled_up = one.shape[1] - SIGNATURE
    agreeing = by_byte.sum(axis=1) - filled_up
    least = ALIKE * SIGNATURE
    return np.asarray(agreeing >= least)


BANDS = _BANDS
"""How often near-copies may fall together."""


def banded(signatures: Hashes, band: int) -> NDArray[np.uint64]:
    """One number for each row: rows with the same one fall together in this band."""
    numbers = np.zeros(len(signatures), dtype=np.uint64)
    begin = band * _BAND
    # The factor is the prime of FNV for 64 bits.
    for column in signatures[:, begin : begin + _BAND].T:
        numbers = numbers * np.uint64(0x100000001B3) + column
    return numbers


def fallen_together(
    band: NDArray[np.uint64],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The two places of each pair of equal numbers; each is compared with three others at most."""
    order = np.argsort(band, kind="stable")
    ordered = band[order]
    one = []
    other = []
    # All pairs of a thousand copies would be half a million; by its neighbours each still hangs
    # together with all of them.
    for step in range(1, 4):
        first = np.flatnonzero(ordered[step:] == ordered[:-step])
        one.append(order[first])
        other.append(order[first + step])
    return np.concatenate(one), np.concatenate(other)


def alike(one: Hashes, other: Hashes) -> NDArray[np.bool_]:
    """Which rows of the two are near-copies of one another, by their signatures."""
    # The share of equal numbers estimates the share of shingles that both have.
    share = np.mean(one == other, axis=1)
    return np.asarray(share >= ALIKE)
