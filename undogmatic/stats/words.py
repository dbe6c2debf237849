"""Fits a judge that reads nothing: it sees which words a text has, what can be counted, how it
begins and ends.

Everything it sees is a mark: a column of 0 and 1 per text ("has the word *tema*", "has more than
812 characters"), or, for pairs of texts, of -1, 0 and 1 (the second text has it alone, none or
both, the first alone). Three learners use them: boosting of single marks, ridge regression on words
and on counts, and a short list of marks that is written down in fewer bits than the verdicts it
tells (`listed`). The first two say of a text what the other groups say.
"""

from __future__ import annotations

import copy
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

from undogmatic.stats import means
from undogmatic.stats.checks import Array, Index
from undogmatic.stats.surface import bent

Marked = NDArray[np.float32]
Mark = tuple[str, str]
"""The kind of a mark, and what is seen: "word", "tema"."""

COUNTS = tuple(
    (
        "characters words sentences lines word_length longest_word sentence_length first_sentence"
        " last_sentence first_comma capitals capitals_share capital_words digits numbers commas"
        " full_stops parentheses quotes colons hyphens other_marks different_words acronyms"
        " named_numbers short_words long_words vowels first_place last_place"
    ).split()
)
"""What is counted, in this order."""
_PUNCTUATION = {
    "commas": ",",
    "full_stops": ".",
    "parentheses": "()",
    "quotes": "\"'“”‘’«»",
    "colons": ":;",
    "hyphens": "-–—",
}
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d[\d.,/]*")
_IN_NUMBER = re.compile(r"\d(\W)(?=\d)")
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++(?:\s|$)")
_NAMED_NUMBER = re.compile(
    r"\b(?:[A-ZÀ-Ý]\w*|\w{1,4}\.|n[ºo°]\.?|§)\s*(?:n[ºo°]\.?\s*)?\d"
)
"""A word with a capital, or an abbreviation, and a number: "Tema 69", "art. 5"."""
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
_PARTS = re.compile(f"{_UNSPACED.pattern}|[^{_UNSPACED.pattern[1:-2]}]+")
"""Letters of scripts that write no space between words: Thai, Lao, Burmese, Khmer, Japanese,
Chinese."""
STEM = 4
"""Letters of a longer word's beginning that are a mark of their own, as in a pattern such as
`preced\\w+`."""
MOST_WORDS = 4000
FINE, COARSE = 64, 16
"""Into how many parts the values of a count are cut, for the list of marks and for boosting."""
MOST_STEPS = 12
LEAST_OFTEN = 3
"""In how many texts a word must stand for a list of words alone: the fewer words there are, the
cheaper each is."""
# Steps shorter than the best one, so that a mark that leads by chance does not take
# all; the number of rounds that is used is chosen by the folds.
_ROUNDS, _RATE = 100, 0.4
MANY = 250
"""With more rows five folds are left out in turn, else ten."""


@dataclass(frozen=True)
class Marks:
    """What texts (or pairs of them) show. `columns`: one row per mark, shape (n_marks, n_rows);
    `names`: kind and what is seen ("word", "tema"); `coarse`: which marks boosting uses;
    `features`: words weighted by how rare they are, curved functions of counts, and characters and
    endings, shape (n_rows, n_features) each."""

    columns: Marked
    names: tuple[Mark, ...]
    coarse: Index
    features: tuple[Array, ...]
    paired: bool


def words_of(text: str) -> list[str]:
    """The words of a text; where no space parts them, every two letters that stand beside each
    other count as one."""
    found = _WORD.findall(text)
    if _UNSPACED.search(text) is None:
        return found
    pieces: list[str] = []
    for word in found:
        for part in _PARTS.findall(word):
            if _UNSPACED.match(part):
                starts = range(max(1, len(part) - 1))
                pieces += [part[start : start + 2] for start in starts]
            else:
                pieces.append(part)
    return pieces


class _Read(NamedTuple):
    """Texts, taken apart once: how often each has which word, the first and last of them, and how
    often each has which of the different characters, shape (n_texts, n_characters)."""

    texts: Sequence[str]
    words: list[Counter[str]]
    ends: list[Mark]
    signs: list[str]
    bag: Array

    @classmethod
    def of(cls, texts: Sequence[str]) -> _Read:
        """Read texts."""
        words = []
        ends = []
        for text in texts:
            in_order = words_of(text)
            words.append(Counter(in_order))
            first, last = "", ""
            if in_order:
                first = in_order[0].lower()
                last = in_order[-1].lower()
            ends.append((first, last))
        # All characters of all texts in one array: a loop over single ones is far slower.
        encoded = "".join(texts).encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(encoded, dtype=np.uint32)
        kinds = np.flatnonzero(np.bincount(codes, minlength=1))
        n_texts = len(texts)
        n_kinds = kinds.size
        highest = int(kinds.max(initial=0))
        place = np.zeros(highest + 1, dtype=np.intp)
        place[kinds] = np.arange(n_kinds)
        lengths = [len(text) for text in texts]
        row_begins = np.repeat(np.arange(n_texts) * n_kinds, lengths)
        cells = row_begins + place[codes]
        counts = np.bincount(cells, minlength=n_texts * n_kinds)
        bag = counts.reshape(n_texts, n_kinds).astype(np.float64)
        signs = [chr(code) for code in kinds]
        return cls(texts, words, ends, signs, bag)

    def counted(self, lists: Mapping[str, re.Pattern[str]]) -> Array:
        """COUNTS of each text and how many of its words each of the lists has, shape (n_texts,
        n_counts)."""
        sizes = self.bag.sum(axis=1)
        signs = self._count_signs
        words = self._sum_words
        numbers = _as_array
        n_words = words(lambda word: 1)
        at_least_one = np.maximum(1, n_words)
        sentences = [_sentences(text) for text in self.texts]
        n_sentences = numbers(map(len, sentences))
        longest = numbers(max(map(len, own), default=0) for own in self.words)
        lower = [set(map(str.lower, own)) for own in self.words]
        first_commas = [text.find(",") for text in self.texts]
        commas = np.array(first_commas)
        named = {
            name: signs(lambda sign, own=own: sign in own)  # type: ignore[misc]
            for name, own in _PUNCTUATION.items()
        }
        marks = signs(lambda sign: not sign.isalnum() and not sign.isspace())
        capitals = signs(str.isupper)
        n_letters = np.maximum(1, signs(str.isalpha))
        n_numbers = [len(_NUMBER.findall(text)) for text in self.texts]
        n_named_numbers = [len(_NAMED_NUMBER.findall(text)) for text in self.texts]
        found = {
            "characters": sizes,
            "words": n_words,
            "sentences": n_sentences,
            "lines": signs("\n".__eq__) + 1,
            "word_length": words(len) / at_least_one,
            "longest_word": longest,
            "sentence_length": n_words / n_sentences,
            "first_sentence": numbers(len(own[0].split()) for own in sentences),
            "last_sentence": numbers(len(own[-1].split()) for own in sentences),
            "first_comma": np.where(commas < 0, sizes, commas),
            "capitals": capitals,
            "capitals_share": capitals / np.maximum(1, sizes),
            "capital_words": words(lambda word: word[0].isupper()),
            "digits": signs(str.isdigit),
            "numbers": numbers(n_numbers),
            **named,
            "other_marks": marks - np.sum(list(named.values()), axis=0),
            "different_words": numbers(map(len, lower)) / at_least_one,
            "acronyms": words(lambda word: len(word) > 1 and word.isupper()),
            "named_numbers": numbers(n_named_numbers),
            "short_words": words(lambda word: len(word) < STEM) / at_least_one,
            "long_words": words(lambda word: len(word) > 2 * STEM) / at_least_one,
            "vowels": signs(_is_vowel) / n_letters,
            "first_place": numbers(_place(first) for first, _ in self.ends),
            "last_place": numbers(_place(last) for _, last in self.ends),
        }
        known = {word for own in self.words for word in own}
        listed = []
        for pattern in lists.values():
            # Each different word is looked at once, however often it stands in the texts.
            those = {word for word in known if pattern.fullmatch(word.lower())}
            listed.append(words(those.__contains__))
        # In the order of COUNTS, and not in that in which they were counted above.
        return np.column_stack([*(found[name] for name in COUNTS), *listed])

    def _count_signs(self, those: Callable[[str], bool]) -> Array:
        """How many such characters each text has, shape (n_texts,)."""
        asked = [those(sign) for sign in self.signs]
        return np.asarray(self.bag[:, asked].sum(axis=1))

    def _sum_words(self, of_each: Callable[[str], int]) -> Array:
        """The sum over the words of each text of a number of each, shape (n_texts,)."""
        sums = []
        for own in self.words:
            total = 0
            # Each different word is asked about once, however often it stands there.
            for word, n in own.items():
                total += of_each(word) * n
            sums.append(total)
        return _as_array(sums)

    def letters(self) -> Array:
        """How often each character and each ending of a word occurs, and characters as shares,
        standardised and cut off at four standard deviations; shape (n_texts, k)."""
        n_texts = len(self.texts)
        lower = [sign.lower() for sign in self.signs]
        names = sorted(set(lower))
        bag = np.zeros((n_texts, len(names)))
        columns = [names.index(sign) for sign in lower]
        # Capitals are added to their small letters: two columns of `self.bag` may be one here.
        np.add.at(bag.T, columns, self.bag.T)
        endings: list[Counter[str]] = []
        n_texts_with: Counter[str] = Counter()
        for own in self.words:
            counts: Counter[str] = Counter()
            for word, n in own.items():
                if len(word) > STEM:
                    ending = word[-2:].lower()
                    counts[ending] += n
            endings.append(counts)
            n_texts_with.update(counts.keys())
        # An ending of fewer texts would be learned from a handful.
        least = n_texts / 20
        often = [name for name, n in n_texts_with.items() if n >= least]
        often.sort()
        rows = [[own[name] for name in often] for own in endings]
        ends = np.array(rows, dtype=np.float64)
        lengths = np.maximum(1, bag.sum(axis=1, keepdims=True))
        return _standardised(np.column_stack([bag, bag / lengths, ends]))

    def alphabet(self) -> list[Array]:
        """The share of each letter among the letters of a text, and that of each letter among those
        that its words begin with and end on; two tables of shape (n_texts, k). They stand by
        themselves, as a sum over some of few columns is learned from few texts."""
        lower = [sign.lower() for sign in self.signs]
        n_texts = len(self.texts)
        often = np.count_nonzero(self.bag, axis=0) >= n_texts / 20
        letters = filter(str.isalpha, compress(lower, often))
        names = sorted(set(letters))
        place = {name: n for n, name in enumerate(names)}
        # Of all letters, of those that words begin with, and of those that they end on.
        bags = np.zeros((3, n_texts, len(names)))
        for sign, of_texts in zip(lower, self.bag.T, strict=True):
            if sign in place:
                bags[0, :, place[sign]] += of_texts
        for row, own in enumerate(self.words):
            for word, n in own.items():
                first = word[0].lower()
                last = word[-1].lower()
                for kind, sign in ((1, first), (2, last)):
                    if sign in place:
                        bags[kind, row, place[sign]] += n
        lengths = np.maximum(1, bags.sum(axis=2, keepdims=True))
        of_all, of_first, of_last = bags / lengths
        of_ends = np.hstack([of_first, of_last])
        return [_standardised(of_all), _standardised(of_ends)]

    def marked(self) -> tuple[list[Mark], Marked]:
        """Words, beginnings, endings, shapes of numbers, first and last words that at least two
        texts have; shape (n_marks, n_texts)."""
        where: dict[Mark, list[int]] = {}
        for place, (text, own, (first, last)) in enumerate(
            zip(self.texts, self.words, self.ends, strict=True)
        ):
            words = {word.lower() for word in own}
            seen: set[Mark] = set()
            for word in words:
                # Of a number only its length: two years are one kind of mark.
                shape = "0" * len(word) if word.isdigit() else word
                seen.add(("word", shape))
                if len(word) > STEM:
                    seen.add(("stem", word[:STEM]))
                    seen.add(("ending", word[-2:]))
            for mark in _IN_NUMBER.findall(text):
                seen.add(("number", f"0{mark}0"))
            if first:
                seen.add(("first", first))
                seen.add(("last", last))
            for kind_and_mark in seen:
                where.setdefault(kind_and_mark, []).append(place)
        n_texts = len(self.texts)
        shared = [mark for mark in where if len(where[mark]) >= 2]

        def words_first(mark: Mark) -> tuple[bool, Mark]:
            kind, _ = mark
            return kind != "word", mark

        # In one order, whatever the order of sets: of two marks of the same texts the first is
        # kept.
        often = sorted(shared, key=words_first)

        def evenly(key: Mark) -> int:
            n_with = len(where[key])
            return min(n_with, n_texts - n_with)

        # Those that part the texts most evenly are kept: a word of two texts among a
        # thousand can explain hardly a verdict.
        if len(often) > MOST_WORDS:
            often = sorted(often, key=lambda key: -evenly(key))[:MOST_WORDS]
        table = np.zeros((len(often), n_texts), dtype=np.float32)
        for row, mark in enumerate(often):
            table[row, where[mark]] = 1
        return often, table


def _as_array(values: Iterable[float]) -> Array:
    return np.array(list(values), dtype=np.float64)


def _sentences(text: str) -> list[str]:
    """The sentences of a text, and an empty one where it has none, so that each has a first."""
    sentences = [part for part in _SENTENCE_END.split(text) if part.strip()]
    return sentences or [""]


def _standardised(table: Array) -> Array:
    """Columns of mean 0 and deviation 1, cut off at four of them."""
    spread = table.std(axis=0)
    divisor = np.where(spread > 0, spread, 1)
    standardised = (table - table.mean(axis=0)) / divisor
    return np.clip(standardised, -4, 4)


def _is_vowel(sign: str) -> bool:
    return unicodedata.normalize("NFD", sign)[0].lower() in "aeiou"


def _place(word: str) -> float:
    """Where a word stands in the alphabet, from 0 to 1, by its first three characters."""
    # The character before "a" stands for a letter that is missing, and sorts before all others.
    before_a = ord("a") - 1
    letters = unicodedata.normalize("NFD", word)[:3].ljust(3, chr(before_a))
    in_alphabet = [min(max(ord(sign) - before_a, 0), 26) for sign in letters]
    # Digits after the point of a number to the base 27.
    digits = [place / 27**digit for digit, place in enumerate(in_alphabet, 1)]
    return float(sum(digits))


def counts(texts: Sequence[str]) -> Array:
    """COUNTS of each text, shape (n_texts, len(COUNTS))."""
    return _Read.of(texts).counted({})


def _cuts(values: Array, parts: int) -> Array:
    """Values between which a count is cut into so many parts, halfway between neighbours."""
    distinct = np.unique(values)
    if distinct.size > parts:
        shares = np.linspace(0, 1, parts + 1)
        # The nearest value itself, and none between two: cuts lie between values that occur.
        ends = np.quantile(values, shares, method="nearest")
        distinct = np.unique(ends)
    return np.asarray((distinct[1:] + distinct[:-1]) / 2)


def marks(
    texts: Sequence[str],
    others: Sequence[str] | None = None,
    lists: Mapping[str, re.Pattern[str]] | None = None,
    further: Mapping[str, Array] | None = None,
) -> Marks:
    """Collect the marks of texts, or of pairs of each text with the one at the same place in
    `others`.

    Args:
        texts, others: The texts, n of each.
        lists: By name, patterns of whole words in lower case that are counted besides COUNTS.
        further: By name, what others counted in each of the texts, then in each of the others,
            shape (n,) or (2 n,).
    """
    lists = lists or {}
    further = further or {}
    n = len(texts)
    both = [*texts, *(others or ())]
    read = _Read.of(both)
    names, table = read.marked()
    counted = np.column_stack([read.counted(lists), *further.values()])
    words = [row for row, (kind, _) in enumerate(names) if kind == "word"]
    # Before pairs are subtracted, because how rare a word is is asked of texts, not of
    # differences of them.
    weighted = _by_rarity(table[words])
    features = [weighted, bent(counted), read.letters(), *read.alphabet()]
    paired = others is not None
    if paired:
        features = [own[:n] - own[n:] for own in features]
        of_first = table[:, :n]
        of_second = table[:, n:]
        counted = counted[:n] - counted[n:]
        # A judge may prefer the first of two, whatever they are.
        first_place = np.ones((1, n), dtype=np.float32)
        table = np.concatenate([of_first - of_second, first_place])
        names = [*names, ("place", "1")]
    rows = [table]
    coarse = [np.ones(len(table), dtype=bool)]
    what = (*COUNTS, *lists, *further)
    for name, column in zip(what, counted.T, strict=True):
        fine, beyond = _beyond_cuts(column, paired)
        rows.append(beyond)
        # Boosting takes every fourth cut or so, evenly: neighbours say nearly the same.
        even = np.linspace(0, fine.size - 1, COARSE - 1).round()
        coarse.append(np.isin(np.arange(fine.size), even))
        names += [(name, f"{cut:.6g}") for cut in fine]
    columns = np.concatenate(rows)
    is_coarse = np.concatenate(coarse)
    kept = _different(columns, paired)
    return Marks(
        columns=columns[kept],
        names=tuple(names[row] for row in kept),
        coarse=np.flatnonzero(is_coarse[kept]),
        features=tuple(features),
        paired=paired,
    )


def _by_rarity(of_words: Marked) -> Array:
    """Words of each text, weighted by how rare they are, shape (n_texts, n_words); of which text
    has which, shape (n_words, n_texts)."""
    n_texts = of_words.shape[1]
    n_texts_with = np.maximum(1, of_words.sum(axis=1))
    rare = np.log(n_texts / n_texts_with)
    weighted = of_words.T.astype(np.float64) * rare
    length = np.sqrt(np.sum(weighted**2, axis=1))
    # Of length 1, so that a long text weighs no more than a short one.
    weighted /= np.maximum(1e-12, length)[:, None]
    return weighted


def _beyond_cuts(column: Array, paired: bool) -> tuple[Array, Marked]:
    """The cuts of a count, shape (n_cuts,), and which texts or pairs lie beyond each, shape
    (n_cuts, n_rows)."""
    if not paired:
        fine = _cuts(column, FINE)
        above = column > fine[:, None]
        return fine, above.astype(np.float32)
    # A difference of 200 words says the same whichever text is the longer one, so
    # that limits lie symmetrically about 0.
    size = np.abs(column)
    fine = _cuts(np.append(size, 0.0), FINE)
    larger = size > fine[:, None]
    beyond = np.sign(column) * larger
    return fine, beyond.astype(np.float32)


def _different(columns: Marked, paired: bool) -> Index:
    """The first row of each mark that tells texts apart, in order."""
    different: dict[bytes, int] = {}
    for row, column in enumerate(columns.astype(np.int8)):
        # What all texts have, or none, tells no two of them apart.
        if not column.any():
            continue
        if not paired and column.all():
            continue
        # Two marks of the same texts are one mark to every learner; both would cost
        # twice the bits in `listed` and twice the time everywhere.
        different.setdefault(column.tobytes(), row)
    return np.array(sorted(different.values()), dtype=np.intp)


def boosted(seen: Marks, targets: Array, folds: Index, *, shares: bool) -> Array:
    """What boosting of single marks, fitted without a row's fold, says of each row; shape
    (n_targets, n_rows).

    Each round adds the one mark, times a number, that lessens the loss most: logistic where targets
    are `shares` from 0 to 1, else squared. As many rounds are taken as foretell the other folds
    best.

    Args:
        targets: Shape (n_targets, n_rows), NaN where not known; of pairs, the share that chose the
            first, or -1 to 1.
    """
    columns = seen.columns[seen.coarse]
    n = folds.size
    n_folds = int(folds.max()) + 1
    n_targets = len(targets)
    # All targets and all folds are boosted in one go. The marks are the same for each,
    # and multiplying by one large table is far quicker than by many small ones.
    known = ~np.isnan(targets)
    # target by target, fold by fold
    y = np.repeat(np.nan_to_num(targets), n_folds, axis=0)
    in_fold = np.arange(n_folds)[:, None] == folds
    left_out = np.tile(in_fold, (n_targets, 1))
    weights = np.repeat(known, n_folds, axis=0) & ~left_out
    # The largest that the second derivative of the logistic loss can be.
    bend = 0.25 if shares else 1.0
    presence = np.abs(columns) if seen.paired else columns
    squares = presence @ weights.T.astype(np.float32) * bend
    total = weights.sum(axis=1) * bend + 1e-9
    room = squares + 1.0
    if not seen.paired:
        room = squares - squares**2 / total + 1.0
    centre = np.zeros(len(y))
    if not seen.paired:
        n_known = np.maximum(1, weights.sum(axis=1))
        centre = (weights * y).sum(axis=1) / n_known
        if shares:
            # The logarithm of the odds of 0 and of 1 is infinite.
            centre = special.logit(np.clip(centre, 0.01, 0.99))
    scores = np.repeat(centre[:, None], n, axis=1)

    def told() -> Array:
        """Of each row without its fold."""
        of_left_out = np.where(left_out, scores, 0.0)
        # A row is left out in one fold, so that the sum is that fold's score.
        by_row = of_left_out.reshape(n_targets, n_folds, n).sum(axis=1)
        return np.asarray(special.expit(by_row) if shares else by_row)

    # Round 0 says the mean of the others: a target that no mark foretells is told by no
    # mark.
    versions = [told()]
    for _ in range(_ROUNDS if len(columns) else 0):
        said = special.expit(scores) if shares else scores
        gradient = weights * (y - said)
        pull = columns @ gradient.T.astype(np.float32)
        if not seen.paired:
            mean_gradient = gradient.sum(axis=1) / total
            pull -= squares * mean_gradient.astype(np.float32)
        chosen = np.argmax(pull**2 / room, axis=0)
        # The mark that was chosen for each target and fold.
        at = chosen, np.arange(len(y))
        step = _RATE * pull[at] / room[at]
        moved = step[:, None] * columns[chosen]
        if not seen.paired:
            # The mean moves along, or a mark that most texts have would move it.
            centred = step * squares[at] / total
            mean_step = _RATE * gradient.sum(axis=1) / total
            moved -= centred[:, None]
            moved += mean_step[:, None]
        scores = scores + moved
        versions.append(told())
    best = []
    for of_target, target in zip(np.stack(versions, 1), targets, strict=True):
        best.append(_best(of_target, target, folds))
    return np.array(best)


def _best(versions: Array, target: Array, folds: Index) -> Array:
    """What each row is told by the version that foretells the other folds best; `versions` has
    shape (k, n_rows)."""
    errors = np.nan_to_num((versions - target) ** 2)
    # How many rounds serve a fold is decided by the other folds. Chosen by all, the
    # row's own verdict would have had a say in what it is told.
    by_fold = np.stack([np.bincount(folds, own) for own in errors])
    of_other_folds = by_fold.sum(axis=1, keepdims=True) - by_fold
    best = np.argmin(of_other_folds, axis=0)
    every_row = np.arange(folds.size)
    return np.asarray(versions[best[folds], every_row])


_ROUNDING = 1e-9
"""What is foretold by less than this share of the largest target is rounding."""


class Ridge:
    """Ridge regression whose folds are left out in closed form, for any number of targets.

    What depends on the features alone is an eigendecomposition (`_basis`), and serves any folds.
    """

    def __init__(self, features: Array, folds: Index, *, intercept: bool) -> None:
        """Prepare it: `features` of shape (n, k), `folds` 0 to n_folds - 1."""
        # Penalties are shares of the features' own size, so that they mean the same for
        # a table of ten counts and for one of 4,000 words.
        square = float(np.sum(features**2))
        scale = max(square / len(features), 1e-12)
        if intercept:
            # So long that hardly a penalty falls on the mean.
            constant = np.full(len(features), 10 * scale**0.5)
            features = np.column_stack([features, constant])
        values, self.vectors = _basis(features)
        self.shrunk = []
        for penalty in (0.03, 0.1, 0.3, 1, 3, 10):
            self.shrunk.append(values / (values + penalty * scale))
        self._fold(folds)

    def with_folds(self, folds: Index) -> Ridge:
        """The same regression with other folds."""
        other = copy.copy(self)
        other._fold(folds)
        return other

    def _fold(self, folds: Index) -> None:
        self.folds = folds
        self.rows = [
            np.flatnonzero(folds == fold) for fold in range(int(folds.max()) + 1)
        ]
        self.left = [
            [_LeftOut(self.vectors[rows] * np.sqrt(shrunk)) for rows in self.rows]
            for shrunk in self.shrunk
        ]

    def predict(self, target: Array) -> Array:
        """What the other folds say of each row, with the penalty by which they are foretold
        best."""
        in_basis = self.vectors.T @ target
        versions = []
        for shrunk, left in zip(self.shrunk, self.left, strict=True):
            missed = target - self.vectors @ (shrunk * in_basis)
            for rows, block in zip(self.rows, left, strict=True):
                missed[rows] = block.undone(missed[rows])
            versions.append(target - missed)
        told = _best(np.stack(versions), target, self.folds)
        # Where nothing is foretold, the rounding of `target - missed` differs with the sign
        # of the target: stacking would make a perfect counter of it.
        rounding = _ROUNDING * np.abs(target).max()
        return np.where(np.abs(told) > rounding, told, 0.0)


def _basis(features: Array) -> tuple[Array, Array]:
    """Eigenvalues above 0 of the rows' inner products, and their vectors, shape (n, k)."""
    n, k = features.shape
    # The smaller of the two products has the same eigenvalues, and costs the cube of its size.
    square = features @ features.T if n <= k else features.T @ features
    values, vectors = np.linalg.eigh(square)
    # What is 0 but for rounding would be divided by.
    kept = values > 1e-9 * values.max(initial=1e-12)
    values = values[kept]
    vectors = vectors[:, kept]
    if n > k:
        vectors = features @ vectors / np.sqrt(values)
    return values, vectors


class _LeftOut:
    """Rows of a fold, as what a regression to all rows misses of them becomes what one without
    their fold misses: by the inverse of I - W W', of W of shape (m, k).

    The smaller of W W' and W' W is factored, as (I - W W')^-1 = I + W (I - W' W)^-1 W' (Woodbury).
    """

    def __init__(self, rows: Array) -> None:
        m, k = rows.shape
        self._rows = rows if k < m else None
        square = rows.T @ rows if k < m else rows @ rows.T
        # A little more than 1, or a row that the regression meets exactly could not be
        # left out.
        whole = (1 + 1e-9) * np.eye(len(square)) - square
        self._factor = scipy.linalg.cho_factor(
            whole, overwrite_a=True, check_finite=False
        )

    def undone(self, missed: Array) -> Array:
        """What a regression without these rows misses of them, of what one with them does."""
        if self._rows is None:
            return np.asarray(self._solved(missed))
        by_basis = self._solved(self._rows.T @ missed)
        return np.asarray(missed + self._rows @ by_basis)

    def _solved(self, right: Array) -> Array:
        return np.asarray(
            scipy.linalg.cho_solve(self._factor, right, check_finite=False)
        )


@dataclass(frozen=True)
class Listed:
    """A short list of marks: a row is told by the first that it has. `said` is the share of each
    row's place on the list, from -1 to 1; `bits` what the list and its errors cost, of `of_bits`
    that the target has, counted in independent rows where groups repeat."""

    said: Array
    steps: tuple[int, ...]
    bits: float
    of_bits: float


def _code(hits: ArrayLike, misses: ArrayLike) -> Array:
    """Bits of so many hits and misses in any order, their share unknown (Krichevsky and Trofimov's
    estimate)."""
    a = np.asarray(hits, dtype=np.float64) + 0.5
    b = np.asarray(misses, dtype=np.float64) + 0.5
    nats = special.betaln(0.5, 0.5) - special.betaln(a, b)
    return np.asarray(nats / np.log(2))


def _repeated(columns: Marked, signs: Marked, groups: Index, paired: bool) -> Array:
    """How many rows say what one independent row would, for each mark; shape (n_marks,), 1 or more.

    A word that all texts of a group share says which group it is, and the verdicts of a group go
    together: twelve such rows are hardly more than one. A word that some texts of each group have
    tells them apart, and each row counts. It is the factor by which the variance of the sum of mark
    times verdict grows with the intraclass correlation of the verdicts (the design effect).

    References:
        Scott and Holt (1982), The effect of two-stage sampling on ordinary least squares methods.
        doi:10.1080/01621459.1982.10477897
    """
    known = np.flatnonzero(signs)
    known_groups = groups[known]
    _, codes = np.unique(known_groups, return_inverse=True)
    together = means.intraclass(signs[known], codes)
    if together == 0 or not columns.size:
        return np.ones(len(columns))
    order = np.argsort(codes, kind="stable")
    own = columns[:, known[order]]
    # of pairs a mark is against or for the first, and their sides mean nothing
    if not paired:
        own -= own.mean(axis=1, keepdims=True)
    size = np.bincount(codes)
    begins = np.cumsum(size) - size
    sums = np.add.reduceat(own, begins, axis=1)
    square_of_sums = np.sum(sums**2, axis=1)
    square = np.sum(own**2, axis=1)
    alone = np.ones(len(own))
    of_groups = np.divide(square_of_sums, square, out=alone, where=square > 0)
    inflation = 1 + together * (of_groups - 1)
    return np.asarray(np.maximum(1.0, inflation))


def _lead(agreeing: Array) -> float:
    """By how much hits lead over misses, from -1 to 1; `agreeing` is above 0 for a hit and below 0
    for a miss."""
    hits = int(np.sum(agreeing > 0))
    misses = int(np.sum(agreeing < 0))
    # One more below, so that a single row does not make the list certain.
    return (hits - misses) / (hits + misses + 1)


def listed(
    seen: Marks, target: Array, groups: Index, *, words_only: bool = False
) -> Listed:
    """Tell a target of two values by a list of marks, as long as each pays for itself in bits.

    A mark costs the bits to name it among all, the k-th log2(k) less, as a set can be named in any
    order; the rows that it covers are then coded by their own share. Of a target that has nothing
    to do with the marks the list is empty, but for chance that their number pays for (Rissanen
    1978). What a mark saves is counted in independent rows (`_repeated`): the list is not held
    against rows left out, so that nothing else would say what a name of a group is worth.

    Args:
        target: 1 and -1, 0 or NaN where neither; shape (n_rows,). For pairs, 1 says the first. A
            row without a target is told by the list as any other: were it left untold, the list
            would say where judge and people differ.
        groups: Group of each row, shape (n_rows,).
        words_only: Use whole words of at least LEAST_OFTEN rows alone: a pattern over words that
            goes with length is told better without length.
    References:
        Rivest (1987), Learning decision lists. doi:10.1007/BF00058680
        Rissanen (1978), Modeling by shortest data description. doi:10.1016/0005-1098(78)90005-5
    """
    y = np.nan_to_num(target).astype(np.float32)
    left = np.ones(y.size, dtype=bool)
    among = np.arange(len(seen.names))
    if words_only:
        words = np.array([name == "word" for name, _ in seen.names], dtype=bool)
        n_rows_with = np.abs(seen.columns).sum(axis=1)
        among = np.flatnonzero(words & (n_rows_with >= LEAST_OFTEN))
    columns = seen.columns[among]
    # Whoever writes the list down has to name each mark among all that there are; the
    # more marks were looked at, the dearer is each, which is the correction for looking
    # at many.
    cost = float(np.log2(max(2, among.size)))
    presence = np.abs(columns) if seen.paired else columns
    repeated = _repeated(columns, y, groups, seen.paired)
    said = np.zeros(y.size)
    steps: list[int] = []
    saved = 0.0

    def settle(rows: NDArray[np.bool_], signs: Array) -> None:
        said[rows] = signs * _lead(y[rows] * signs)

    while True:
        plus = left & (y > 0)
        minus = left & (y < 0)
        n_plus = plus.sum()
        n_minus = minus.sum()
        of_rest = float(_code(n_plus, n_minus))
        if not steps:
            of_bits = of_rest
        if len(steps) == MOST_STEPS or not among.size:
            break
        both = np.stack([plus, minus], axis=1).astype(np.float32)
        covered = presence @ both
        n_covered = covered.sum(axis=1)
        hits = covered[:, 0]
        if seen.paired:
            # Hits less misses is the product with the signs, and their sum is known.
            hits = (n_covered + columns @ (y * left)) / 2
        misses = n_covered - hits
        # A list of k marks can be written down in k! orders that say the same to
        # whoever reads a set.
        own_cost = cost - np.log2(len(steps) + 1)
        plus_covered, minus_covered = covered.T
        of_others = _code(n_plus - plus_covered, n_minus - minus_covered)
        told = _code(hits, misses) + of_others
        gain = (of_rest - told) / repeated - own_cost
        chosen = int(np.argmax(gain))
        # The list ends where one more mark costs more bits than it saves.
        if gain[chosen] <= 0:
            break
        rows = left & (columns[chosen] != 0)
        settle(rows, columns[chosen][rows].astype(np.float64))
        saved += float(gain[chosen])
        steps.append(int(among[chosen]))
        left = left & ~rows
    settle(left, np.ones(int(left.sum())))
    return Listed(said, tuple(steps), of_bits - saved, of_bits)


class Surface:
    """The judge that reads nothing, for texts and their groups: what it says of any target is
    fitted without a row's fold, and what depends on the texts alone is made once."""

    def __init__(
        self,
        seen: Marks,
        groups: Index,
        fitted: NDArray[np.bool_],
        dealt: Index,
    ) -> None:
        """Prepare it: `fitted` says which rows the regressions are fitted to (those with labels);
        boosting uses all. `dealt` is the place of each group when they are dealt into folds, of
        which there are ten, or five of many rows."""
        self.groups = groups
        self.dealt = dealt
        self.seen = seen
        self.fitted = np.flatnonzero(fitted)
        self._deal(10 if groups.size <= MANY else 5)
        self._ridges = [
            Ridge(table[self.fitted], self._folds, intercept=not seen.paired)
            for table in seen.features
        ]

    def _deal(self, n_folds: int) -> None:
        """Deal groups into so many folds, or into as many as there are groups."""
        n_groups = int(self.groups.max()) + 1
        fold_of_group = self.dealt % min(n_folds, n_groups)
        self.folds = fold_of_group[self.groups]
        # A fold in which nothing has a label leaves a number out, which is closed up.
        _, self._folds = np.unique(self.folds[self.fitted], return_inverse=True)
        self._foretold: dict[tuple[bytes, bool], Array] = {}

    def foretell(self, targets: Array, *, shares: bool) -> Array:
        """What the other folds say of each fitted row, shape (n_targets, n_fitted): the learners,
        stacked with weights of 0 or more. `targets`, shape (n_targets, n_rows), are NaN where not
        known; shares from 0 to 1, or any. What was foretold before (the labels, for each further
        judge) is kept."""
        keys = [(target.tobytes(), shares) for target in targets]
        new = {}
        for row, key in enumerate(keys):
            if key not in self._foretold:
                new[key] = row
        if new:
            of_new = targets[list(new.values())]
            found = self._foretell(of_new, shares=shares)
            self._foretold |= zip(new, found, strict=True)
        return np.stack([self._foretold[key] for key in keys])

    def learning_from_half(self) -> Surface:
        """The same, fitted to one half of the groups at a time."""
        other = copy.copy(self)
        other._deal(2)
        other._ridges = [ridge.with_folds(other._folds) for ridge in self._ridges]
        return other

    def _foretell(self, targets: Array, *, shares: bool) -> Array:
        of_all_rows = boosted(self.seen, targets, self.folds, shares=shares)
        of_boosting = of_all_rows[:, self.fitted]
        out = np.empty_like(of_boosting)
        n_folds = int(self._folds.max()) + 1
        for row, target in enumerate(targets[:, self.fitted]):
            known = ~np.isnan(target)
            # Of two texts, which is called the first means nothing.
            middle = 0.5 if shares else 0.0
            if not self.seen.paired:
                middle = float(target[known].mean())
            guessed = np.where(known, target, middle)
            filled = guessed - middle
            told_by = [of_boosting[row] - middle]
            told_by += [ridge.predict(filled) for ridge in self._ridges]
            told = np.column_stack(told_by)
            for fold in range(n_folds):
                own = self._folds == fold
                others = known & ~own
                weights, _ = scipy.optimize.nnls(told[others], filled[others])
                out[row, own] = middle + told[own] @ weights
        return out


def leaning(seen: Marks, target: Array, groups: Index, most: int) -> list[Mark]:
    """The marks that tell a target best, by name: those of its list, else the single ones that go
    with it most."""
    steps = list(listed(seen, np.sign(target), groups).steps)
    if not steps:
        y = np.nan_to_num(target)
        if seen.paired:
            size = np.sqrt(np.sum(seen.columns**2, axis=1) + 1)
        else:
            size = seen.columns.std(axis=1) + 0.05
            y = y - y.mean()
        goes_with = np.abs(seen.columns @ y.astype(np.float32))
        strongest = np.argsort(-goes_with / size)
        steps = strongest[:most].tolist()
    names = dict.fromkeys(seen.names[step] for step in steps)
    return list(names)[:most]
