"""Tells whether a text describes what a precedent decided, by the words that it shares with the
table's `holding`, and measures on invented passages how often these words, or a judge, are right.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import Any, Literal, NamedTuple, get_args

from undogmatic.constructs.precedents.grammar import Citation, fold
from undogmatic.records.results import Finding
from undogmatic.safety.outside import json_lines
from undogmatic.safety.paths import data_folder
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import proportion

Saying = Literal["describes", "otherwise", "silent"]
"""The passage says what was decided; it says something else; it does neither."""
SAYINGS: tuple[Saying, ...] = get_args(Saying)
By = Literal["words", "judge"]
STEM, RIGHT, OTHER, AROUND = 5, 0.66, 0.9, 2
"""Letters of a word that count; how much of a holding a passage must share to describe it, and of
another's, if it shares nothing of that, to describe the other; most sentences before and behind
that of a citation. Chosen on data/precedents/described_development.jsonl and the texts of
data/curated/theses.jsonl."""
MEASURED = data_folder() / "precedents" / "described_test.jsonl"
_WORD = re.compile(r"[a-z]{4,}")
_SENTENCE = re.compile(
    r"(?:(?<=[^\W\d_]{4})|(?<=[\d)])|(?<=[A-Z]{3}))[.!?]+(?=\s+[A-ZÀ-Þ])|\n\s*\n"
)


class Described(NamedTuple):
    """What a text says of a precedent that it cites, and the other whose holding it tells, if that
    is seen."""

    saying: Saying
    like: str | None = None

    @property
    def told(self) -> Finding:
        """It in a sentence."""
        return Finding(
            f"precedents.{self.saying}{'_like' if self.like else ''}",
            {"like": self.like},
        )


class Measured(NamedTuple):
    """How often words or a judge are right about MEASURED, and who always gives the commonest
    answer; and how many of the passages that tell the contrary of what was decided (`turned`) were
    taken to describe it."""

    by: By
    right: Estimate
    always: float
    turned: int
    missed: int

    @property
    def useful(self) -> bool:
        """Whether it is shown to be better than always the same answer."""
        return self.right.low > self.always

    @property
    def told(self) -> Finding:
        """It in a sentence."""
        facts = self.right.values("right") | {
            "hits": self.right.hits,
            "n": self.right.n,
            "always": self.always,
        }
        key = f"precedents.{'examined' if self.useful else 'withheld'}_{self.by}"
        return Finding(key, facts | {"turned": self.turned, "missed": self.missed})


def measure(
    by: By, answer: Callable[[Mapping[str, Any]], Described | None]
) -> Measured:
    """Hold the answers to the passages in MEASURED against what they say. None is never right."""
    rows = [
        (row, one.saying if (one := answer(row)) else None)
        for _, row in json_lines(MEASURED)
    ]
    right = proportion([said == row["label"] for row, said in rows])
    turned = [said for row, said in rows if row.get("reversed")]
    always = max(Counter(row["label"] for row, _ in rows).values()) / len(rows)
    return Measured(by, right, always, len(turned), turned.count("describes"))


def passages(text: str, cited: Sequence[Citation]) -> list[str]:
    """What stands around each citation of a text: its sentence, and so many before and behind as
    cite nothing else."""
    ends = [0, *(m.end() for m in _SENTENCE.finditer(text)), len(text)]
    starts, found = [one.start for one in cited], list[str]()
    for one in cited:
        first, last = (
            bisect_right(ends, one.start, 1, len(ends) - 1) - 1,
            bisect_left(ends, one.end, 1, len(ends) - 1),
        )
        for _ in range(AROUND):
            first -= first > 0 and bisect_left(starts, ends[first - 1]) == bisect_left(
                starts, ends[first]
            )
            last += last < len(ends) - 1 and bisect_left(
                starts, ends[last]
            ) == bisect_left(starts, ends[last + 1])
        found.append(text[ends[first] : ends[last]])
    return found


def stems(text: str) -> set[str]:
    """The beginnings of the words of a text that have four letters or more."""
    return {word[:STEM] for word in _WORD.findall(fold(text)[0].lower())}


class Holdings:
    """What the entries of a table decided, as weighted beginnings of words: rare ones weigh more,
    at most 1."""

    def __init__(self, holdings: Mapping[str, str]) -> None:
        words = {name: stems(holding) for name, holding in holdings.items()}
        often, n = Counter(stem for each in words.values() for stem in each), len(words)
        self._weights = {
            stem: log((n + 1) / (k + 0.5)) / log((n + 1) / 1.5)
            for stem, k in often.items()
        }
        self._sums = {
            name: sum(map(self._weights.__getitem__, each))
            for name, each in words.items()
        }
        self._holding: dict[str, list[str]] = defaultdict(list)
        for name, each in words.items():
            for stem in each:
                self._holding[stem].append(name)

    def said(
        self, passages: Sequence[str], own: set[str], cited: set[str], names: set[str]
    ) -> Described:
        """What passages say of a precedent, by the one that says most.

        Args:
            passages: What stands around each mention of it.
            own: The entries that it was found as, by how they are shown.
            cited: All that the text cites: what it tells of one of these tells nothing of another.
            names: Beginnings of the words of the citations themselves, which say nothing.
        """
        each = [self._said(stems(passage) - names, own, cited) for passage in passages]
        return min(each, key=lambda one: SAYINGS.index(one.saying))

    def _said(self, words: set[str], own: set[str], cited: set[str]) -> Described:
        shares: dict[str, float] = defaultdict(float)  # of each holding
        for stem in words & self._holding.keys():
            for name in self._holding[stem]:
                shares[name] += self._weights[stem] / self._sums[name] ** 0.5
        right = max(shares.get(name, 0.0) for name in own)
        like = max(
            shares.keys() - cited, key=lambda name: (shares[name], name), default=None
        )
        if right >= RIGHT:
            return Described("describes")
        return (
            Described("otherwise", like)
            if like and not right and shares[like] >= OTHER
            else Described("silent")
        )
