"""Looks for the best rival of a judge that does not read: a trivial reading of the texts, or a
column of the file, that could explain its agreement with people (`surface` tells what is found).

The surface judge (`stats.words`) sees words, counts and word lists (word_lists.yaml). It is fitted
without the group that it judges: to people's labels (does it reach as much as the judge?), and to
the judge's verdicts and to what both say in common (do they follow from the surface, so that
nothing of the agreement is left among texts of equal surface?). Belief needs both answers in the
judge's favour.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.examinations import kinds, structure
from undogmatic.examinations.people import FEWEST_OTHERS, strangers
from undogmatic.examinations.structure import Aspect
from undogmatic.examinations.unread import (
    LEAST_WITH_TEXT,
    by_numbers,
    giving,
    says_something,
)
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import COUNTED, Evidence, JudgeView
from undogmatic.records.results import Finding
from undogmatic.safety.outside import read_yaml
from undogmatic.stats import lost, means, rival, words
from undogmatic.stats.checks import Array, Index
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.surface import copies, letters, versions, without_shared

Outcome = Literal[
    "beyond", "as_good", "follows", "open", "column", "no_texts", "few", "rare"
]
# The rival learns from nine tenths of these groups. From fewer it learns next to
# nothing, and every judge would seem to be beyond it.
FEWEST_GROUPS = 20
# Time and memory of the fit grow faster than the items.
MOST_ITEMS = 1500
"""Most items that the surface judge is fitted to; of more, whole groups are drawn at random."""
LEAST_LEFT, LEAST_LEFT_OF_PAIRS, LEAST_LEFT_OF_LEANING = 0.3, 0.35, 0.45
"""What is left of the agreement at equal surface counts if its lower limit is above this; above the
third where words foretell the verdicts better than they foretell the labels, as those of a judge
that goes by what people went by do not. Of a judge that is a pattern over eight words up to 0.3
seemed to be left among 100 texts, as rare words are learned badly; of a good judge at least 0.4
(benchmarks/check.py)."""
OF_FEW, MOST_LEFT = 4.5, 0.6
"""Of n items at least the first over the square root of n, but no more than the second, must be
shown to be left: what a pattern over rare words leaves is the larger by chance, the fewer texts
there are to learn it from. Of judges that look for eight words drawn at random more than 0.3 was
left in 23 and 42 of 100 files of 60 items, in 13 and 20 of 100 items and in none of 160; more than
this was left in 4, 1 and 0 (benchmarks/check.py)."""
LEAST_SHARE, LEAST_SHARE_OF_LEANING = 0.5, 0.75
"""Where several people labelled the same items, the judge must be shown to share with them, beyond
what the rival sees, at least this part of what they share with each other beyond it; at least the
second where words foretell the verdicts better than they would foretell labels without errors. A
judge that looks for sixteen words of which each is rare was else believed in 30 of 100 files of 100
items that two people labelled (benchmarks/merit.py)."""
NOTHING = 0.1
"""People whose agreement with each other at equal surface is surely below this share nothing there
by which a judge could be measured."""
NEAR = 0.05
"""A judge whose agreement lies surely this far below what is asked for is not believed, whatever
explains it."""
DEALS = 5
EDGE = 0.4
"""Where a limit that decides for a judge lies nearer to what must be shown than this share of its
distance from its estimate, chance may have decided: texts are then dealt DEALS times into the parts
of which the word counter learns one by the others."""
LEAST_WITHIN = 0.1
"""The same among items of one value of a column: nothing has to be learned to hold that equal."""
QUOTED = 4
"""Most words that are named."""
MOSTLY = 0.5
"""A column that foretells the verdicts with more agreement than this foretells most of them."""
MOST_TRAITS = 12
"""Of all that the file says beside the texts, so many that go with the verdicts most are looked at
closely."""
GOES_WITH = 2.0
"""Standard errors by which what other groups with the same value say must go with the verdicts for
it to be looked at."""
QUOTES = {
    "word": "“{}”",
    "stem": "“{}…”",
    "first": "“{} …”",
    "last": "“… {}”",
    "ending": "“…{}”",
}
QUOTES["number"] = QUOTES["word"]
FROM_TEXT = ("first_word", "last_word")
Further = tuple[tuple[str, tuple[float, ...]], ...]
"""By name, what was counted in each text besides what any word counter counts."""


def least_left(n: int, least: float = LEAST_LEFT) -> float:
    """How much of the agreement of `n` items must be left at equal surface counts: `least`, and
    more where there are few."""
    return max(least, min(MOST_LEFT, OF_FEW / n**0.5))


@dataclass(frozen=True)
class SurfaceRival:
    """What a judge that reads nothing reaches, beside the judge.

    `outcome`: "as_good", it is not shown to reach less; "follows", the surface foretells the
    judge's verdicts, and no more than `least_left` of the agreement is shown to be left beside it;
    "open", no more is shown to be left, but neither that the surface foretells the verdicts;
    "column", a column of the file explains the agreement; "beyond", none of these; "no_texts",
    "few" groups, "rare", hardly an item outside the most frequent verdict or label (`others`, as of
    a judge that chose the second of two outputs in 3 of 100 pairs): not examined. Where people
    labelled the same items, "follows" and "open" hang on `shared` instead: on how much the judge
    shares with people beyond the surface, measured by what they share with each other. `agreement`
    is the surface judge's with people in the judge's own coefficient, `accuracy` the share of
    labels that it gets right (None for numbers), `increment` the judge's agreement (`judge`) minus
    the surface judge's, `at_equal` what is left of the judge's at equal surface (or within the
    column's values), `foretold` how well the surface foretells the judge's verdicts; `what` are the
    words, counts or the column that the rival leans on most. `n` items have a verdict and a label,
    in `groups` units; `drawn` of so many, 0 if all were looked at.
    """

    outcome: Outcome
    agreement: Estimate | None
    accuracy: Estimate | None
    increment: Estimate | None
    at_equal: Estimate | None
    foretold: Estimate | None
    what: tuple[str, ...]
    n: int
    groups: int
    judge: Estimate | None = None
    drawn: int = 0
    others: int = 0
    # Items of which there is no text, or but the name of one, where those are too many.
    lacking: int = 0
    # The judge's agreement among items with the same texts, where it and people tell too
    # many of those apart for the texts to be what was judged.
    told_apart: Estimate | None = None
    # What explains the agreement, or else foretells the verdicts best, of all beside the texts.
    column: _Column | None = None
    by_number: int = 0  # 1 where the rival gives a number in the text for its verdict
    least_left: float = LEAST_LEFT  # that must be shown to be left at equal surface
    least_why: str = ""  # why it is more than that: "few", "pair", "leaning"
    shared: rival.Shared | None = None  # of items that several people labelled
    # how much more the surface says of the judge than of people
    leaning: Estimate | None = None
    least_share: float = LEAST_SHARE  # of what people share, that must be shown
    # how many of the `groups` are no copies or edited versions of each other
    apart: int = 0
    # whether by the rule for one person too little is left for so few items
    unlearned: bool = False
    # by the surface judge from twice as many labels, where it lost
    gained: Estimate | None = None
    # in how many deals enough was left, before one with too little
    past_edge: int | None = None

    @property
    def is_near_edge(self) -> bool:
        """Whether it may hang on how the texts were dealt into parts what is decided."""
        # Only limits that could change the answer are looked at: one that is near what
        # must be shown, but decides nothing, is no reason to fit five times.
        decides: list[tuple[Estimate | None, float]] = [(self.increment, 0.0)]
        if self.shared is not None and self.shared.share is not None:
            decides.append((self.shared.share, self.least_share))
            if self.shared.share.low < LEAST_SHARE_OF_LEANING:
                decides.append((self.leaning, 0.0))
        else:
            decides.append((self.at_equal, self.least_left))
            if self.at_equal is not None and self.at_equal.low < LEAST_LEFT_OF_LEANING:
                decides.append((self.leaning, 0.0))
        return any(
            found is not None
            and abs(found.low - least) < EDGE * (found.value - found.low)
            for found, least in decides
        )

    @property
    def better(self) -> bool:
        """Whether the surface judge is shown to agree with people more than the judge does."""
        return self.increment is not None and self.increment.high < 0

    @property
    def by_column(self) -> bool:
        """Whether a column of the file, or a first or last word, is what explains the agreement."""
        return self.outcome == "column" or self.what in {(name,) for name in FROM_TEXT}

    @property
    def named(self) -> Finding:
        """The clause that names the column, or what else the file says beside the texts."""
        assert self.column is not None
        return named(self.column.aspect)

    @property
    def undone(self) -> bool:
        """Whether rows that could not be read could undo that it shares enough with people."""
        share = None if self.shared is None else self.shared.share
        return share is not None and share.worst_low < self.least_share <= share.low

    @property
    def unmeasured(self) -> bool:
        """Whether people who labelled the same items are shown to share nothing beyond the surface,
        by which what the judge shares with them could be measured."""
        shared = self.shared
        return (
            shared is not None and shared.share is None and shared.people.high < NOTHING
        )

    @property
    def robustness(self) -> float | None:
        """What share of the differences among verdicts, and as much among labels, something that
        was not tried must foretell beyond what was tried to undo "beyond"; None of any other
        outcome, and where nothing is left by which it could be told.

        What foretells the share x of both sides turns what two have in common there, r, into
        (r - x) / (1 - x), as a partial correlation. What is asked is which x leaves no more than
        must be shown of the lower limit.

        References:
            Cinelli and Hazlett (2020), Making sense of sensitivity: extending omitted variable
            bias. doi:10.1111/rssb.12348
        """
        if self.outcome != "beyond":
            return None
        if self.shared is not None and self.shared.share is not None:
            people = self.shared.people.value
            share = self.shared.share
            low, least = min(share.low, share.worst_low), self.least_share
            beyond = (low - least) / (1 - least)
            return people * min(max(beyond, 0.0), 1.0)
        if self.unmeasured or self.at_equal is None:
            return None
        left = min(self.at_equal.low, self.at_equal.worst_low)
        return max(0.0, (left - self.least_left) / (1 - self.least_left))

    @property
    def predicts(self) -> bool:
        """Whether it is shown that the surface (or the column) foretells the judge's verdicts at
        all."""
        return self.foretold is not None and self.foretold.low > 0


class _Sides:
    """Verdicts and labels by item as voices, and how what is foretold becomes a voice."""

    def __init__(
        self, own: JudgeView, items: pd.Index, deal: int, options: CheckOptions
    ) -> None:
        self.kind, self.items, self.deal = own.table.kind, items, deal
        self.names = _names(own.table, items)
        self.chance = _by_chance(self.names, items, deal)
        # Kappa for categories, since it is what is known of such labels elsewhere;
        # squares for grades, as two steps off is worse than one; ranks for numbers,
        # whose scale may be anybody's.
        self.nominal = self.kind in ("unordered", "pass_fail", "pairwise")
        self.coefficient: rival.Coefficient = "rank"
        if self.nominal:
            self.coefficient = "nominal"
        elif self.kind == "ordered":
            self.coefficient = "quadratic"
        self.categories = np.arange(len(own.table.categories))
        self.judge = self._voice(own.first(), "verdict", items)
        self.people = self._voice(own.labels, "label", items)
        # What people share is measured without those who agree with nobody.
        gone = [each.rater for each in own.once(strangers, options)]
        labels = own.labels[~own.labels["rater"].astype(str).isin(gone)]
        self.agreeing = self._voice(labels, "label", items) if gone else self.people
        self.raters = _raters(labels, items)

    def _voice(self, rows: pd.DataFrame, column: str, items: pd.Index) -> rival.Voice:
        rows = rows[rows[column].notna() & rows["item"].isin(items)]
        values = (
            rows[column].rank() if self.kind == "numeric" else rows[column]
        ).to_numpy(dtype=np.float64)[:, None]
        table = pd.DataFrame(
            (values == self.categories).astype(np.float64) if self.nominal else values
        )
        keys = rows["item"].to_numpy()
        mean, square = (
            part.groupby(keys, sort=False).mean().reindex(items).to_numpy()
            for part in (table, table**2)
        )
        return rival.Voice(mean, square)

    def targets(self, mean: Array) -> Array:
        """What is to be foretold, shape (n_targets, n_items): shares of categories, or standardised
        numbers."""
        if self.kind == "pass_fail":
            return mean[:, 1:].T
        if self.kind == "pairwise":
            return (1 + mean[:, :1] - mean[:, 1:2]).T / 2
        if self.nominal:
            return mean.T
        spread = float(np.nanstd(mean))
        return (mean - np.nanmean(mean)).T / (spread if spread > 0 else 1.0)

    def common(self, people: Array, judge: Array) -> Array:
        """The targets where people and judge are on one side of the middle, NaN elsewhere. If both
        follow a pattern with mistakes, hardly a mistake is left on these items. Where they are less
        than half of all, the judge's.
        """
        middle = 0.5 if self.nominal else 0.0
        same = np.sign(people - middle) == np.sign(judge - middle)
        both = ~np.isnan(people + judge)
        # Learned from few items the common part would be learned badly, and a judge
        # would seem to owe nothing to words.
        rare = same.sum(axis=1, keepdims=True) < both.sum(axis=1, keepdims=True) / 2
        return np.where(rare, judge, np.where(same, (people + judge) / 2, np.nan))

    def controls(self, told: Array) -> Array:
        """What was foretold, a column per column of the voices, shape (n_items, n_columns)."""
        if self.kind == "pass_fail":
            return np.column_stack([1 - told[0], told[0]])
        if self.kind == "pairwise":
            rest = np.zeros((told.shape[1], self.categories.size - 2))
            return np.column_stack([told[0], 1 - told[0], rest])
        return np.asarray(told.T)

    def saying(self, values: Array) -> rival.Voice:
        """A side that says these categories, or numbers, one of each item."""
        if not self.nominal:
            return rival.voice(values)
        return rival.voice((values[:, None] == self.categories).astype(np.float64))

    def said(self, told: Array, like: rival.Voice, chance: Index) -> rival.Voice:
        """The verdicts of who foretells so: categories, or values as often as those of `like`
        occur. Among items of which the same is foretold `chance` decides: their order in the file
        may be that of the labels, and so may be the numbers that a seed gives.
        """
        if self.kind == "unordered":
            chosen = np.argmax(told, axis=0)
        elif self.kind == "pairwise":
            chosen = np.where(told[0] > 0.5, 0, 1)
        else:
            # The rival gives each verdict as often as the side that it is compared
            # with. Kappa rewards the right frequency, so that a rival with another one
            # would lose by that alone.
            place = np.argsort(np.lexsort((chance, told[0].round(9))))
            column = np.sort(like.mean[:, -1])
            if not self.nominal:
                return rival.voice(column[place])
            chosen = (column[place] > 0.5).astype(np.intp)
        return self.saying(chosen)


def _raters(labels: pd.DataFrame, items: pd.Index) -> Index:
    """How many people labelled each item; 0 of one that somebody labelled twice, as he is not
    another person than himself."""
    rows = labels[labels["label"].notna()].groupby("item", sort=False)["rater"]
    # Two labels by one person agree for reasons that have nothing to do with the item.
    once = rows.nunique().where(rows.size() == rows.nunique(), 0)
    return once.reindex(items, fill_value=0).to_numpy(dtype=np.intp)


@dataclass(frozen=True)
class _Column:
    """What a column explains: `within`, what is left of the agreement among items of one value;
    `shared`, the same beside what is left between people; `foretold`, how far it foretells the
    verdicts; `agreement`, how far it reaches the labels."""

    aspect: Aspect
    within: Estimate | None
    foretold: Estimate | None
    agreement: Estimate | None
    shared: rival.Shared | None = None
    least: float = LEAST_WITHIN  # that must be shown to be left

    @property
    def explains(self) -> bool:
        """Whether it foretells the verdicts, and nothing is shown to be left within its values:
        nothing of the agreement, nor, where several people labelled the same items, enough of what
        they share with each other. That does not help a judge most of whose verdicts it foretells:
        people who go by the same column share with each other what is badly learned of it."""
        if self.foretold is None or self.foretold.low <= 0:
            return False
        # Nothing has to be learned to hold a column equal, so that less must be left
        # than beside words.
        left = self.within is not None and self.within.low > self.least
        share = None if self.shared is None else self.shared.share
        if share is not None and self.foretold.value < MOSTLY:
            left |= share.low >= LEAST_SHARE
        return not left


def _aspects(
    own: JudgeView,
    items: pd.Index,
    texts: Sequence[Sequence[str]],
    options: CheckOptions,
) -> list[Aspect]:
    """What could be a rival beside the words of the texts: what the file says of the items, and the
    first and the last word of a text."""
    found = list(structure.aspects(own, items, options.ignore))
    # A pair has two first words; which of them a judge of pairs goes by is a matter of
    # words, and is seen there.
    if len(texts) == 1:
        folded = [text.lower() for text in texts[0]]
        ends = {
            "first_word": [
                (re.findall(r"\w+", text[:100]) or [""])[0] for text in folded
            ],
            "last_word": [
                (re.findall(r"\w+", text[-100:]) or [""])[-1] for text in folded
            ],
        }
        for name, values in ends.items():
            codes = pd.factorize(np.array(values, dtype=object))[0].astype(np.intp)
            if 1 < codes.max(initial=0) + 1 <= codes.size / 2:
                found.append(Aspect(name, (), "", codes))
    return found


@functools.lru_cache(maxsize=1)
def _lists() -> dict[str, re.Pattern[str]]:
    """What simple judges look for, by name (word_lists.yaml)."""
    found = read_yaml(Path(__file__).with_name("word_lists.yaml"))
    return {
        name: re.compile(
            "|".join(re.escape(word).replace(r"\*", r"\w*") for word in own.split())
        )
        for name, own in found.items()
    }


@functools.lru_cache(maxsize=4)
# Fitting depends on texts, groups and the deal alone, and not on the judge. Ten judges
# of one file share the fit, which takes nearly all of the time.
def _surface(
    texts: tuple[str, ...],
    others: tuple[str, ...] | None,
    further: Further,
    groups: tuple[int, ...],
    labelled: int,
    deal: int,
) -> words.Surface:
    codes = np.array(groups, dtype=np.intp)
    seen = _marks(texts, others, further)
    names = [" ".join(pair) for pair in zip(texts, others or texts, strict=True)]
    dealt = _dealt(names, codes, deal)
    return words.Surface(seen, codes, np.arange(codes.size) < labelled, dealt)


@functools.lru_cache(maxsize=2)
def _marks(
    texts: tuple[str, ...], others: tuple[str, ...] | None, further: Further
) -> words.Marks:
    counted = {name: np.array(values, dtype=np.float64) for name, values in further}
    return words.marks(texts, others, _lists(), counted)


def forget() -> None:
    """Let go of what was counted in texts, which is kept for the next judge of the same ones: of
    1,500 texts some 150 MB, which a report that follows would come on top of."""
    _surface.cache_clear()
    _marks.cache_clear()


def _dealt(names: Iterable[Any], groups: Index, deal: int) -> Index:
    """Deal groups by what stands in them, whatever the order of the rows: the place of each group,
    shape (n_groups,). Another `deal` gives another order."""
    digests = _digests(names, deal)
    # By the texts themselves, because a seed that is drawn in the order of the rows
    # would give the same file, sorted otherwise, another answer.
    first = np.full(int(groups.max()) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(first, groups, digests)
    return np.argsort(np.argsort(first, kind="stable")).astype(np.intp)


def _names(table: Evidence, items: pd.Index) -> Sequence[Any]:
    """What tells items apart whatever the order of the rows: their texts, as an item without an id
    is called after its row; without any text their ids."""
    texts = [" ".join(row) for row in zip(*table.texts(items), strict=True)]
    return texts or list(items)


def _by_chance(names: Sequence[Any], items: pd.Index, deal: int) -> Index:
    """The place of each item in an order that says nothing of it; of those with the same name its
    id decides."""
    return np.lexsort((_digests(items, deal), _digests(names, deal))).argsort()


def _digests(names: Iterable[Any], deal: int) -> NDArray[np.uint64]:
    """Numbers that say nothing of these names, and follow from nothing but their characters."""
    return np.array([_digest(name, deal) for name in names], dtype=np.uint64)


def _digest(name: Any, deal: int) -> int:
    text = f"{deal} {name}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())


def surface_rival(own: JudgeView, options: CheckOptions) -> SurfaceRival:
    """Fit the surface judge to labels and verdicts, look at the columns, and say whether one of
    them could explain how far this judge agrees with people.

    A judge that is past the edge, but near it, must be so each of DEALS times; else it is open.
    """
    found = _one_deal(own, options, 0)
    # Dealt anew only where belief hangs on it: a chance that speaks against the judge
    # costs it nothing but a "not yet", and five fits cost five times as long.
    if found.outcome != "beyond" or not found.is_near_edge:
        return found
    for deal in range(1, DEALS):
        other = _one_deal(own, options, deal)
        # All deals must agree. A majority would let through, in one file of several, a
        # judge whose answer hangs on chance.
        if other.outcome != "beyond":
            return replace(other, outcome="open", past_edge=deal)
    return found


def _one_deal(own: JudgeView, options: CheckOptions, deal: int) -> SurfaceRival:
    """Look for a rival once."""
    table = own.table.items
    labelled = own.labels.loc[own.labels["label"].notna(), "item"].unique()
    # Items without a label are looked at as well: what words foretell the judge's
    # verdicts can be learned from all that it judged.
    items, n_labelled = _chosen(own.table, labelled, deal)
    sides = _Sides(own, items, deal, options)
    known = ~np.isnan(sides.judge.mean[:, 0]) & (np.arange(items.size) < n_labelled)
    groups = pd.factorize(table["group"].reindex(items))[0].astype(np.intp)
    codes = pd.factorize(groups[known])[0].astype(np.intp)
    n, n_groups = int(known.sum()), int(codes.max(initial=-1)) + 1
    drawn = len(labelled) if n_labelled < len(labelled) else 0
    found = SurfaceRival(
        "few", None, None, None, None, None, (), n, n_groups, drawn=drawn
    )
    if n_groups < FEWEST_GROUPS:
        return found
    texts = own.table.texts(items)
    # Of copies and edited versions that the groups of intervals part, the rival would
    # learn one by the other.
    if texts:
        groups = _with_copies(
            [" ".join(row) for row in zip(*texts, strict=True)], groups
        )
    look = _Look(sides, options, n_labelled, known, groups, codes, _lost(own, n))
    found = replace(
        found,
        outcome="no_texts",
        judge=look.agreed(look.judge, look.people),
        apart=int(look.learning.max()) + 1,
    )
    lacking = sum(
        not all(map(says_something, row))
        for row in itertools.compress(zip(*texts, strict=True), known)
    )
    # A rival that sees no text of every third item would look weak for that reason.
    most_lacking = (1 - LEAST_WITH_TEXT) * n
    if lacking > most_lacking:
        found = replace(found, lacking=lacking)
    elif texts and (same := look.told_apart(texts, most_lacking)) is not None:
        apart, told_apart = same
        found = replace(found, lacking=apart, told_apart=told_apart)
    elif texts:
        found = look.at_words(found, texts, _further(table, items))
    # What stands beside the texts is the same, however they are dealt.
    # A judge that words explain already needs no second explanation.
    if deal == 0 and found.outcome in ("beyond", "open", "no_texts"):
        aspects = _aspects(own, items, texts, options)
        found = _beside_columns(found, look.at_columns(aspects))
    # Last, as it takes back a "beyond" only: too few rare items to have learned from is
    # no reason to say that words explain nothing.
    return _unless_rare(found, look.judge, look.people) if sides.nominal else found


def _with_copies(texts: Sequence[str], groups: Index) -> Index:
    """Groups joined where they hold copies or edited versions of each other's texts, so that no
    rival learns from a copy of what it is tried on; the groups themselves where that leaves too
    few. Intervals are over the groups as they were."""
    bare = without_shared(texts)
    joined = groups
    for alike in (np.array(copies(tuple(bare)), dtype=np.intp), versions(bare)):
        first = np.unique(alike, return_index=True, return_inverse=True)
        joined = _tied(joined, joined[first[1]][first[2]])
    return joined if int(joined.max(initial=-1)) + 1 >= FEWEST_GROUPS else groups


def _tied(groups: Index, other: Index) -> Index:
    """Numbers of groups, of which those that share an item with another one count as one."""
    from scipy import sparse

    n_groups = int(groups.max(initial=-1)) + 1
    links = sparse.coo_matrix((np.ones(groups.size), (groups, other)), (n_groups,) * 2)
    together = sparse.csgraph.connected_components(links, directed=False)[1]
    return pd.factorize(together[groups])[0].astype(np.intp)


def _further(table: pd.DataFrame, items: pd.Index) -> Further:
    """What others counted in the text of each item (`counted.<name>`)."""
    named = [str(name) for name in table if str(name).startswith(COUNTED)]
    counted = table.reindex(items)[named].fillna(0.0)
    return tuple(
        (name.removeprefix(COUNTED), tuple(counted[name].astype(float)))
        for name in named
    )


def _lost(own: JudgeView, n: int) -> int:
    """How many rows that could not be read stand beside the `n` items looked at, which may be drawn
    of more."""
    n_read = own.pairs()["item"].nunique()
    return min(-(-own.table.unaccounted * n // max(n_read, 1)), lost.MOST * n)


class _Look:
    """The labelled items that a judge judged, and how far anybody agrees with it or with people on
    them."""

    def __init__(
        self,
        sides: _Sides,
        options: CheckOptions,
        n_labelled: int,
        known: NDArray[np.bool_],
        groups: Index,
        codes: Index,
        n_lost: int,
    ) -> None:
        """Keep them: `known` and `groups`, by which a rival learns, of all items looked at,
        labelled ones first; `codes`, the units of intervals, of the known. `n_lost` more could not
        be read."""
        self.sides = sides
        self.options = options
        self.n_labelled = n_labelled
        self.known = known
        self.groups, self.codes, self.n_lost = groups, codes, n_lost
        self.with_lost = lost.units(codes, n_lost)
        self.learning = pd.factorize(groups[known])[0].astype(np.intp)
        self.judge, self.people = sides.judge.of(known), sides.people.of(known)
        self.agreeing = sides.agreeing.of(known)
        self.raters, self.chance = sides.raters[known], sides.chance[known]

    def said(self, told: Array, like: rival.Voice) -> rival.Voice:
        """The verdicts of who foretells so of these items, as often as those of `like` occur."""
        return self.sides.said(told, like, self.chance)

    def agreement(self, one: rival.Voice, other: rival.Voice) -> rival.Agreement | None:
        codes = self.codes if len(one.mean) == self.codes.size else self.with_lost
        return rival.agreement(
            one, other, self.sides.coefficient, self.options.rng(), codes
        )

    def stated(self, made: rival.Agreement | None) -> Estimate | None:
        return (
            None
            if made is None
            else made.nearly_mean(self.options.level, (-1.0, 1.0)).replace(
                n=self.codes.size
            )
        )

    def agreed(self, one: rival.Voice, other: rival.Voice) -> Estimate | None:
        """How far two sides agree, bounded by what they may say of the rows that could not be
        read."""
        found = self.stated(self.agreement(one, other))
        if found is None:
            return None
        thought = (
            self.stated(self.agreement(one.beside(said), other.beside(same)))
            for same, far in self.thought(other)
            for said in (same, far)
        )
        return lost.widened(found, thought)

    def leads(
        self, counter: rival.Voice, increment: Estimate | None
    ) -> Estimate | None:
        """How much further the judge agrees with people than a counter does, bounded in the same
        way."""
        if increment is None:
            return None
        thought = (
            self.less(
                *(
                    self.agreement(one.beside(of_lost), self.people.beside(same))
                    for one, of_lost in sides
                )
            )
            for same, far in self.thought(self.people)
            for sides in (
                ((self.judge, far), (counter, same)),
                ((self.judge, same), (counter, far)),
            )
        )
        return lost.widened(increment, thought)

    def left(self, controls: Sequence[Array]) -> Estimate | None:
        """What is left of the agreement at equal controls, bounded in the same way. Of a lost row
        the controls say what they say on average, which takes nothing from its agreement or
        disagreement."""
        sides, level = self.sides, self.options.level
        found = rival.at_equal(
            self.judge, self.people, controls, sides.coefficient, level, self.codes
        )
        if found is None or not self.n_lost:
            return found
        whole = [
            np.vstack([own, np.tile(own.mean(axis=0), (self.n_lost, 1))])
            for own in controls
        ]
        return self.beside_lost(
            found,
            lambda judge, people: rival.at_equal(
                judge, people, whole, sides.coefficient, level, self.with_lost
            ),
        )

    def shared(
        self, foretells: Callable[[NDArray[np.bool_]], rival.Foretold]
    ) -> rival.Shared | None:
        """What the judge shares with people beyond what is foretold, measured by what they share
        with each other; None where too few items have labels of several people.

        Of a lost row nothing is foretold; two people said the same of it, and the judge too, or
        something else.

        Args:
            foretells: Makes what foretells the items that it is given.
        """
        several = self.raters > 1
        codes = np.unique(self.codes[several], return_inverse=True)[1]
        if codes.max(initial=-1) + 1 < FEWEST_GROUPS:
            return None
        judge = self.judge.of(several)
        people = self.agreeing.of(several)
        raters = self.raters[several]
        shape = self.sides.coefficient, self.options.level
        foretold = foretells(several)
        found = rival.shared(judge, people, raters, foretold, *shape, codes)
        if found is None or not self.n_lost:
            return found
        n = -(-self.n_lost * raters.size // self.raters.size)

        def with_lost(column: int, values: Array) -> Array:
            known = foretold(column, values[:-n])
            return np.concatenate([known, np.full(n, values[:-n].mean())])

        thought = []
        for same, far in self.thought(people, n):
            for said in (same, far):
                whole = rival.shared(
                    judge.beside(said),
                    people.beside(same),
                    np.concatenate([raters, np.full(n, 2)]),
                    with_lost,
                    *shape,
                    lost.units(codes, n),
                )
                if whole is not None:
                    thought.append(whole)
        share = found.share
        return rival.Shared(
            lost.widened(found.judge, (one.judge for one in thought)),
            lost.widened(found.people, (one.people for one in thought)),
            None
            if share is None
            else lost.widened(share, (one.share for one in thought)),
        )

    def left_within(self, values: Index) -> Estimate | None:
        """The same among items of one value of a column, of which lost rows have one of their
        own."""
        sides, level = self.sides, self.options.level
        found = rival.within(
            self.judge, self.people, values, sides.coefficient, level, self.codes
        )
        if found is None or self.n_lost < 2:
            return found
        whole = np.concatenate([values, np.full(self.n_lost, values.max() + 1)])
        return self.beside_lost(
            found,
            lambda judge, people: rival.within(
                judge, people, whole, sides.coefficient, level, self.with_lost
            ),
        )

    def beside_lost(
        self,
        found: Estimate,
        with_lost: Callable[[rival.Voice, rival.Voice], Estimate | None],
    ) -> Estimate:
        """Bound an estimate by what it would be with the rows that could not be read, in which the
        judge says what people say or what lies farthest from it."""
        thought = (
            with_lost(self.judge.beside(said), self.people.beside(same))
            for same, far in self.thought(self.people)
            for said in (same, far)
        )
        return lost.widened(found, thought)

    def told_apart(
        self, texts: Sequence[Sequence[str]], most: float
    ) -> tuple[int, Estimate] | None:
        """How many items have the same texts as others of which both judge and people say
        something else, and how far the two agree among items with the same texts. None where there
        are at most so many items, or no such agreement is shown.

        Who sees no more than these texts can tell such items apart by chance alone, and not as
        somebody else does.
        """
        rows = itertools.compress(zip(*texts, strict=True), self.known)
        same = pd.factorize(pd.Series([" ".join(row) for row in rows]).map(letters))[0]
        apart = np.ones(same.size, dtype=bool)
        for side in (self.judge, self.people):
            said = pd.DataFrame(side.mean).groupby(same)
            differ = (said.max() - said.min()).max(axis=1).to_numpy() > 0
            apart &= differ[same]
        n = int(apart.sum())
        within = self.left_within(same.astype(np.intp)) if n > most else None
        return None if within is None or within.low <= 0 else (n, within)

    def thought(
        self, of: rival.Voice, n_lost: int | None = None
    ) -> Iterator[tuple[rival.Voice, rival.Voice]]:
        """What one side may have said in the rows that could not be read, each time with what lies
        farthest from it; nothing where all rows could be read."""
        n_lost = self.n_lost if n_lost is None else n_lost
        if not n_lost:
            return
        sides = self.sides
        if sides.nominal:
            known = np.argmax(of.mean, axis=1).astype(np.float64)
            ends = lost.frequent(known, sides.categories.size)
        else:
            known = of.mean[:, 0]
            ends = float(known.min()), float(known.max())
            ends = (0.0, sides.categories.size - 1.0) if sides.categories.size else ends
        for same, far in lost.labels(known, ends, n_lost):
            yield sides.saying(same), sides.saying(far)

    def less(
        self, one: rival.Agreement | None, other: rival.Agreement | None
    ) -> Estimate | None:
        """How much further the one agrees than the other.

        A rival that agrees less than a coin could be a coin, so nobody leads it by more than the
        whole scale of a coefficient, unless the estimate itself does.
        """
        if one is None or other is None:
            return None
        most = max(1.0, one.estimate - other.estimate)
        return one.nearly_mean(self.options.level, (-2.0, most), less=other)

    def leaning(
        self, echo: rival.Agreement | None, like: rival.Agreement | None
    ) -> Estimate | None:
        """How much better words foretell the judge's verdicts (`echo`) than they foretell people's
        labels (`like`), or would foretell labels without errors, where several people show how many
        errors there are: a judge that errs less than a person leans on nothing for that alone."""
        found = self.less(echo, like)
        whole = self.shared(
            lambda rows: lambda column, values: np.full(values.size, values.mean())
        )
        if found is None or like is None or whole is None or whole.people.value <= 0:
            return found
        foretold = max(0.0, like.estimate)
        more = foretold / min(1.0, whole.people.value) ** 0.5 - foretold
        return found.replace(
            value=found.value - more, low=found.low - more, high=found.high - more
        )

    def without_learning(
        self, texts: Sequence[tuple[str, ...]], further: Further
    ) -> Iterator[tuple[str, rival.Voice]]:
        """What programs say that give a number in the text for their verdict, or what others
        counted in it, as it is."""
        kind, people, said = self.sides.kind, self.people, self.said
        shown = [[*itertools.compress(own, self.known)] for own in texts]
        yield from by_numbers(kind, shown, people, said)
        for name, counted in further:
            if kind != "unordered":
                value = np.array(counted)[self.known]
                yield from (
                    (name, voice) for voice in giving(kind, value, people, said)
                )

    def not_behind(
        self, texts: Sequence[tuple[str, ...]], further: Further
    ) -> Iterator[tuple[str, rival.Voice, rival.Agreement, Estimate]]:
        """Programs that learn nothing, agree with people at least half as far as the judge, and are
        not shown to agree less: the name of each, what it says, how far it agrees, and how much
        further the judge does. The counter would have to learn such a rule from few texts, and may
        miss it."""
        own = self.agreement(self.judge, self.people)
        for name, voice in self.without_learning(texts, further):
            other = self.agreement(voice, self.people)
            if other is None or own is None or 2 * other.estimate < own.estimate:
                continue
            less = self.less(own, other)
            if less is not None and less.low <= 0:
                yield name, voice, other, less

    def at_columns(self, aspects: Sequence[Aspect]) -> Iterator[_Column]:
        """What each of the aspects explains that go with the verdicts most, the first of all first;
        then two of them at a time, and all together."""
        named = [self.of_known(aspect) for aspect in aspects]
        for aspect in self.strongest(named):
            yield self.at_aspect(aspect)
        target = self.sides.targets(self.judge.mean)[0]
        for aspect in self.strongest(structure.crossed(named, target)):
            yield self.at_aspect(aspect)
        beside = [aspect for aspect in aspects if aspect.part not in FROM_TEXT]
        # A judge may add up ten columns, of which none explains it.
        if (every := self.together(beside)) is not None:
            yield every

    def of_known(self, aspect: Aspect) -> Aspect:
        """An aspect of the labelled items that were judged."""
        return aspect._replace(
            codes=np.unique(aspect.codes[self.known], return_inverse=True)[1]
        )

    def strongest(self, aspects: Sequence[Aspect]) -> list[Aspect]:
        """Those that go with the verdicts most, of those that go with them at all."""
        strength = [self._goes_with(each.codes) for each in aspects]
        order = sorted(range(len(aspects)), key=lambda place: -strength[place])[
            :MOST_TRAITS
        ]
        return [aspects[place] for place in order if strength[place] > GOES_WITH]

    def at_aspect(self, aspect: Aspect) -> _Column:
        """What one aspect explains."""
        sides, values = self.sides, aspect.codes
        foretold, agreement = (
            self.agreed(
                self.said(
                    sides.targets(rival.by_value(values, side.mean, self.learning)),
                    side,
                ),
                side,
            )
            for side in (self.judge, self.people)
        )
        shared = self.shared(functools.partial(_by_column, values))
        return _Column(aspect, self.left_within(values), foretold, agreement, shared)

    def _goes_with(self, values: Index) -> float:
        """How surely what other groups with the same value say goes with the verdicts, in standard
        errors of a correlation of as many groups."""
        told = rival.by_value(values, self.judge.mean, self.learning)
        said = self.judge.mean - self.judge.mean.mean(axis=0)
        told = told - told.mean(axis=0)
        size = np.sqrt(np.sum(said**2) * np.sum(told**2))
        return (
            float(np.sum(said * told) / size * self.learning.max() ** 0.5)
            if size > 0
            else 0.0
        )

    def foretold(
        self, surface: words.Surface
    ) -> tuple[list[Array], list[Array], list[Array]]:
        """What a surface judge says of people's labels, of the judge's verdicts and of what both
        say in common, by itself and by short lists, each of shape (n_columns, n_known); the signs
        of these targets; and the same as controls, one table per column of the voices."""
        sides = self.sides
        targets = [sides.targets(side.mean) for side in (sides.people, sides.judge)]
        targets.append(sides.common(*targets))
        labelled = self.known[: self.n_labelled]
        every = surface.foretell(np.concatenate(targets), shares=sides.nominal)[
            :, labelled
        ]
        # Labels, verdicts and what both have in common are foretold in one go, since
        # the fit depends on the texts alone.
        told = np.split(every, np.cumsum([len(own) for own in targets])[:-1])
        signs = [2 * target - 1 if sides.nominal else target for target in targets]
        # A list of words that are all or nothing is what ridge regression learns worst,
        # and what simple judges are. It is tried with all marks and with words alone.
        for own_signs, only in itertools.product(signs[1:], (False, True)):
            lists = np.array(
                [
                    words.listed(
                        surface.seen, np.sign(one), self.groups, words_only=only
                    ).said[self.known]
                    for one in own_signs
                ]
            )
            told.append((1 + lists) / 2 if sides.nominal else lists)
        said = [sides.controls(one) for one in told]
        controls = list(np.moveaxis(np.stack(said, axis=-1), 1, 0))
        return told, signs, controls

    def gained(
        self, surface: words.Surface, whole: rival.Agreement | None
    ) -> Estimate | None:
        """How much further the surface judge agrees with people than one that learned from half of
        the groups only."""
        sides = self.sides
        target = sides.targets(sides.people.mean)
        told = surface.learning_from_half().foretell(target, shares=sides.nominal)
        half = self.said(told[:, self.known[: self.n_labelled]], self.people)
        return self.less(whole, self.agreement(half, self.people))

    def together(self, aspects: Sequence[Aspect]) -> _Column | None:
        """What all that the file says beside the texts explains together; None where it says
        nothing."""
        if not aspects or self.sides.kind == "pairwise":
            return None
        seen = structure.marks(aspects)
        fitted = np.arange(self.groups.size) < self.n_labelled
        dealt = _dealt(self.sides.names, self.groups, self.sides.deal)
        surface = words.Surface(seen, self.groups, fitted, dealt)
        told, signs, controls = self.foretold(surface)
        said = (
            self.agreed(self.said(own, side), side)
            for own, side in ((told[1], self.judge), (told[0], self.people))
        )
        foretold, agreement = said
        leaned = signs[1][-1 if self.sides.kind != "unordered" else 0]
        names = words.leaning(seen, leaned, self.groups, QUOTED)
        of = tuple(dict.fromkeys(int(kind) for kind, _ in names))
        aspect = Aspect(
            "together", (), "", self.codes, tuple(aspects[place] for place in of[:3])
        )
        shared = self.shared(
            lambda rows: rival.by_controls([own[rows] for own in controls])
        )
        return _Column(
            aspect, self.left(controls), foretold, agreement, shared, LEAST_LEFT
        )

    def at_words(
        self, found: SurfaceRival, texts: Sequence[tuple[str, ...]], further: Further
    ) -> SurfaceRival:
        """What a program reaches that counts words, or gives a number in the text for its
        verdict; `further` is what others counted in each text."""
        sides = self.sides
        judge = self.judge
        people = self.people
        level = self.options.level
        pair = sides.kind == "pairwise"
        groups = tuple(self.groups.tolist())
        others, deal = texts[1] if pair else None, sides.deal
        surface = _surface(texts[0], others, further, groups, self.n_labelled, deal)
        told, signs, controls = self.foretold(surface)
        left = self.left(controls)
        shared = self.shared(
            lambda rows: rival.by_controls([own[rows] for own in controls])
        )
        counter = self.said(told[0], people)
        own_agreement = self.agreement(judge, people)
        like = self.agreement(counter, people)
        increment, leans = self.less(own_agreement, like), tuple[str, ...]()
        for name, voice, other, less in self.not_behind(texts, further):
            if increment is None or less.low < increment.low:
                like, increment, leans, counter = other, less, (name,), voice
        right = (counter.mean * people.mean).sum(axis=1)
        repeated = self.said(told[1], judge)
        echo = self.agreement(repeated, judge)
        # A judge that goes by what people go by is foretold by words no better than
        # people's labels are. One that is foretold better owes more to words than
        # people do, and must show more.
        leaning = self.leaning(echo, like)
        least, why = (LEAST_LEFT_OF_PAIRS, "pair") if pair else (LEAST_LEFT, "")
        if leaning is not None and leaning.low > 0:
            least, why = LEAST_LEFT_OF_LEANING, "leaning"
        of_many, least = least, least_left(self.codes.size, least)
        why = "few" if least > of_many else why
        as_good = increment is None or increment.low <= 0
        follows = not as_good and (left is None or left.low <= least)
        told_by_words = self.agreed(repeated, judge)
        own_low = found.judge.low if found.judge else 1.0
        # A judge that agrees too little to be believed need not follow from words.
        enough = own_low >= self.options.least_of(sides.kind) - NEAR
        # "It follows words" is a charge that has to be shown, unless belief hangs on
        # its opposite.
        follows &= told_by_words is None or told_by_words.low > 0 or enough
        leaned = signs[int(follows)][-1 if sides.kind != "unordered" else 0]
        leaning_on = words.leaning(surface.seen, leaned, self.groups, QUOTED)
        outcome: Outcome = "as_good" if as_good else "beyond"
        if follows:  # never said of words that are not shown to foretell anything
            outcome = (
                "follows"
                if told_by_words is not None and told_by_words.low > 0
                else "open"
            )
        least_share, unlearned = LEAST_SHARE, False
        if leaning is not None and leaning.low > 0:
            least_share = LEAST_SHARE_OF_LEANING
        if shared is not None and not as_good:
            by_itself, outcome = outcome, _of_shared(shared, outcome, least_share)
            unlearned = outcome == "beyond" != by_itself and why == "few"
        gained = None
        # Whether more labels would teach the counter more is asked only where it lost:
        # it is a warning to who believes the judge.
        if outcome == "beyond" and not leans and not self.n_lost:
            gained = self.gained(surface, like)
        accuracy = (
            means.interval(right, level, groups=self.codes, bounds=(0, 1))
            if sides.nominal
            else None
        )
        return replace(
            found,
            outcome=outcome,
            least_left=least,
            least_why=why,
            leaning=leaning,
            least_share=least_share,
            unlearned=unlearned,
            shared=shared,
            gained=gained,
            agreement=self.agreed(counter, people),
            accuracy=None
            if accuracy is None
            else lost.mixed(accuracy, right.size, self.n_lost),
            increment=self.leads(counter, increment),
            at_equal=left,
            foretold=told_by_words,
            by_number=int(any(name not in dict(further) for name in leans)),
            what=leans
            or tuple(
                dict.fromkeys(
                    QUOTES.get(kind, kind).format(seen) for kind, seen in leaning_on
                )
            ),
        )


def _by_column(values: Index, rows: NDArray[np.bool_]) -> rival.Foretold:
    return rival.by_column(np.unique(values[rows], return_inverse=True)[1])


def _of_shared(shared: rival.Shared, by_itself: Outcome, least: float) -> Outcome:
    """What follows from how much the judge shares with people beyond the surface.

    Where they are shown to share nothing with each other there, it cannot be asked, and the answer
    says so. Where that is open, what is left of the judge's agreement must do `by_itself`.
    """
    share = shared.share
    if share is None:
        nothing = shared.people.high < NOTHING
        return "beyond" if nothing or by_itself == "beyond" else "open"
    # A share of what people share, and no fixed number: the better the counter learns,
    # the less is left of both, so that more labels never speak against a judge that
    # stays as good.
    if share.low >= least:
        return "beyond"
    return "follows" if share.high < least else "open"


def _beside_columns(found: SurfaceRival, columns: Iterable[_Column]) -> SurfaceRival:
    """The same, or the first column that explains the agreement; of those that do not, the one that
    foretells the verdicts best is kept."""
    best: Estimate | None = None
    for each in columns:
        foretold, of_text = each.foretold, each.aspect.part in FROM_TEXT
        if each.explains:
            outcome: Outcome = "follows" if of_text else "column"
            what = (each.aspect.part,) if of_text else ()
            return replace(
                found,
                outcome=outcome,
                at_equal=each.within,
                foretold=foretold,
                what=what,
                column=each,
            )
        if of_text or foretold is None:
            continue
        surest = 0.0 if best is None else best.low
        if foretold.low > surest:
            found = replace(found, column=each)
            best = foretold
    return found


def fewest_others(n: int) -> int:
    """How many of `n` items must be outside the most frequent verdict or label: of few items a
    third, as many as two labels that are nearly as frequent have."""
    return min(FEWEST_OTHERS, math.ceil(kinds.MINOR * n))


def _unless_rare(
    found: SurfaceRival, judge: rival.Voice, people: rival.Voice
) -> SurfaceRival:
    """The same, or "rare" where too few items are outside the most frequent verdict or label."""
    # A judge that says "pass" of all but three items is known on three items.
    others = int(min(found.n - side.mean.sum(axis=0).max() for side in (judge, people)))
    return replace(
        found,
        others=others,
        outcome="rare"
        if found.outcome == "beyond" and others < fewest_others(found.n)
        else found.outcome,
    )


def _chosen(
    table: Evidence, labelled: Sequence[str], deal: int
) -> tuple[pd.Index, int]:
    """The items that are looked at, labelled ones first, and how many are labelled: MOST_ITEMS at
    most. Of more, every group gives one, then another one, until there are enough, as groups are
    what is independent."""
    has = table.items.index.isin(labelled)
    chosen: list[pd.Index] = []
    room = MOST_ITEMS
    for part in (table.items[has], table.items[~has]):
        if len(part) > room:
            codes = pd.factorize(part["group"])[0].astype(np.intp)
            names = _names(table, part.index)
            chance = _by_chance(names, part.index, deal)
            # One of each group before a second of any, because groups are what
            # intervals count.
            turn = pd.Series(chance).groupby(codes).rank().to_numpy()
            first = np.lexsort((_dealt(names, codes, deal)[codes], turn))[:room]
            chosen.append(part.index[np.sort(first)])
        else:
            chosen.append(part.index)
        room -= len(chosen[-1])
    return chosen[0].append(chosen[1]), len(chosen[0])


def named(aspect: Aspect) -> Finding:
    """The clause that names what the file says beside the texts, as the user named it."""
    values: dict[str, Any] = {"columns": list(aspect.columns), "detail": aspect.detail}
    if len(aspect.of) == 1:
        return named(aspect.of[0])
    if aspect.of:
        values = {"what": [named(each) for each in aspect.of]}
    return Finding(f"surface.aspect_{aspect.part}", values)
