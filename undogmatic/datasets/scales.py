"""Decides what kind of verdict a table holds and on which scale, and puts labels and verdicts on
one scale."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from undogmatic.datasets.cells import Cells, fold, names_several, number_of, read_cells
from undogmatic.datasets.doors import Door, Question, Way, spelled
from undogmatic.datasets.roles import (
    JUDGE,
    KIND,
    LABEL,
    LABEL_SCALE,
    PASSING,
    SCALE,
    Option,
)
from undogmatic.datasets.vocabulary import CHOICES, CODES, FAILS, ORDERS, PASSES
from undogmatic.errors import ConfigError
from undogmatic.records.evidence import FIRST, SECOND, TIE, Kind
from undogmatic.records.records import Record
from undogmatic.records.results import Finding, Subject
from undogmatic.safety.outside import brief

ROUND_ENDS: Sequence[tuple[float, float]] = (
    (0.0, 1.0),
    (1.0, 3.0),
    (1.0, 4.0),
    (1.0, 5.0),
    (1.0, 7.0),
    (1.0, 10.0),
    (0.0, 2.0),
    (0.0, 3.0),
    (0.0, 4.0),
    (0.0, 5.0),
    (0.0, 6.0),
    (0.0, 10.0),
    (0.0, 100.0),
    (-1.0, 1.0),
)
"""Usual scales, the first that holds all numbers is taken."""
# Grades from 1 to 4 are most often those of a scale to 5 on which nobody gave the best.
RARE_ENDS = (2.0, 3.0, 4.0, 6.0)
"""Upper ends of scales that are taken only where every grade of them was given."""
NO_GRADES = (-999.0, -99.0, -9.0, -1.0, 0.0, 99.0, 999.0, 9999.0)
"""Numbers that programs and people write where there is no grade."""
STRAY, MOST_LEVELS = 0.03, 20
NUMBERS = 0.9
"""From this share of numbers on, what is no number is unreadable, and below it numbers are
categories."""


class TableOptions(Record):
    """How a verdict table is read, where that is not to be recognised.

    Attributes:
        judge: Columns of verdicts, or the column with the names of judges. verdict: In the latter
            case the column with what they said. human: Columns of labels, one per rater, or the one
            beside a column `rater`.
        item, text, group, system, criterion, repeat, order, confidence, rater, failed, injected,
        parent: Columns ("": none); of texts
            (and systems) two where two outputs are compared; of items several, separated by commas;
            or the name of one criterion.
        kind: Of verdict. scale, human_scale: Of verdicts and labels: "1-5", or categories
            "bad<ok<good"; "10-1" of labels where 10 stands for the lowest verdict.
        labels: How the labelled items were chosen: unknown, all, random, by-verdict,
            probabilities:COLUMN.
        sheet: Of a workbook: the sheet, a range or both.
        choices: Whether a pairwise choice numbers outputs in the given order or as they were shown.
        passes: Which category is "pass". scales: The ends of single criteria. facts: Columns of
            neither verdicts nor labels.
        unit: Of a file of traces what an item is.
    """

    judge: tuple[str, ...] = ()
    verdict: str | None = None
    human: tuple[str, ...] = ()
    item: str | None = None
    text: tuple[str, ...] = ()
    group: str | None = None
    system: tuple[str, ...] = ()
    criterion: str | None = None
    repeat: str | None = None
    order: str | None = None
    confidence: str | None = None
    rater: str | None = None
    failed: str | None = None
    injected: str | None = None
    parent: str | None = None
    kind: Kind | None = None
    scale: str | None = None
    human_scale: str | None = None
    labels: str = "unknown"
    sheet: str | None = None
    choices: Literal["given", "shown"] | None = None
    passes: str | None = None
    scales: Mapping[str, tuple[float, float]] = Field(default_factory=dict)
    facts: frozenset[str] = frozenset()
    unit: Literal["step", "turn", "run"] | None = None


@dataclass(frozen=True)
class Scales:
    """The kind, the ends of numbers or the categories, and how the words of verdicts and of labels
    are read (None: as numbers). Where labels are on another scale, from what stands for the lowest
    verdict to what stands for the highest (`theirs`), they may be `mapped` on that of the verdicts,
    (factor, shift), or the verdicts be `placed` on theirs (`in_grades`)."""

    kind: Kind
    ends: tuple[float, float] | None = None
    categories: tuple[str, ...] = ()
    of_verdicts: Mapping[str, float] | None = None
    of_labels: Mapping[str, float] | None = None
    mapped: tuple[float, float] = (1.0, 0.0)
    placed: tuple[float, float] = (1.0, 0.0)
    theirs: tuple[float, float] | None = None
    notes: Sequence[Finding] = field(default_factory=tuple)

    def in_grades(self, door: Door) -> "Scales":
        """The same with all numbers on the scale of the labels, which is said."""
        if self.theirs is None or self.ends is None:
            return self
        (low, high), (bottom, top) = self.ends, self.theirs
        factor = (top - bottom) / (high - low)
        told = {"low": low, "high": high, "bottom": bottom, "top": top}
        said = Finding("table.placed", told | spelled(door, SCALE, LABEL_SCALE))
        return replace(
            self,
            ends=(min(self.theirs), max(self.theirs)),
            mapped=(1.0, 0.0),
            placed=(factor, bottom - factor * low),
            notes=[*(note for note in self.notes if note.key != "table.mapped"), said],
        )


class Beside:
    """What stands beside the words of one side in the same items on the other: of a label "ruim"
    the verdicts. It orders words that are no numbers in a question, and in no answer."""

    def __init__(
        self, verdicts: pd.DataFrame, labels: pd.DataFrame, categories: Collection[str]
    ) -> None:
        self.rows, self.categories = (verdicts, labels), categories

    def pairs(self) -> list[tuple[str, str]]:
        """The words of verdict and label of each item that has both."""
        sides = []
        for rows in self.rows:
            held = read_cells(rows["raw"].to_numpy(), self.categories)
            words = np.array(held.words, dtype=object)[held.codes]
            sides.append(rows[["item", "criterion"]].assign(word=words).dropna())
        both = sides[0].merge(
            sides[1], on=["item", "criterion"], suffixes=("", "_label")
        )
        return list(zip(both["word"], both["word_label"], strict=True))

    def ordered(
        self, words: Collection[str], by: Sequence[str], of_labels: bool
    ) -> list[str]:
        """The words of one side, those first beside which the other says what stands first in
        `by`."""
        place = {word: n for n, word in enumerate(by)}
        held: dict[str, list[int]] = {word: [] for word in words}
        for verdict, label in self.pairs():
            own, other = (label, verdict) if of_labels else (verdict, label)
            if own in held and other in place:
                held[own].append(place[other])
        means = {
            word: float(np.mean(each)) if each else np.nan
            for word, each in held.items()
        }
        return sorted(
            words, key=lambda word: (np.isnan(means[word]), means[word], word)
        )

    def matched(
        self, words: Collection[str], given: Collection[str]
    ) -> dict[str, str] | None:
        """The label that stands most often beside each word of the judge, where each label is that
        of one word."""
        counted = Counter(self.pairs())
        best = {
            w: max(sorted(given), key=lambda g: counted[w, g]) for w in sorted(words)
        }
        whole = len(set(best.values())) == len(best) == len(given)
        return best if whole and all(counted[pair] for pair in best.items()) else None


def find_scales(
    verdicts: Cells,
    labels: Cells,
    options: TableOptions,
    pairwise: bool,
    door: Door,
    beside: Beside | None = None,
) -> Scales:
    """Decide on the kind and the scales of verdicts and labels. Raises ConfigError where that is
    doubtful, with the options as they are spelled at the `door`; `beside` orders words in what is
    asked."""
    # What is typed is never doubted; what is not typed is decided below from the
    # clearest to the least clear, and asked where it stays doubtful.
    kind = options.kind
    if kind == "pairwise" or (kind is None and pairwise):
        return _pairwise(verdicts, labels, options, door, beside)
    ends, order = typed_scale(options.scale, door.option(SCALE))
    their_ends, their_order = typed_scale(
        options.human_scale, door.option(LABEL_SCALE), True
    )
    if order and kind not in (None, "ordered", "unordered", "pass_fail"):
        raise ConfigError(
            f"{door.option(SCALE)} is {brief(options.scale)}, categories in their order, but"
            f" {door.option(KIND)} is {kind}."
        )
    # Who types an order says that there is one.
    if kind is None and (order or their_order):
        kind = "ordered"
    # Once anything of the scale was said, words among numbers are what that leaves:
    # missing.
    if kind is None and ends is None and not order and options.passes is None:
        _check_one_form(verdicts, labels, door)
    if kind is None and ends is None and (shares := _of_shares(verdicts, labels, door)):
        return shares
    if kind is None:
        kind = _kind(verdicts, labels, options)
    if kind == "numeric":
        return _numeric(verdicts, labels, ends, their_ends, door)
    return _categories(
        kind, verdicts, labels, order, their_order, options, door, beside
    )


def _check_one_form(verdicts: Cells, labels: Cells, door: Door) -> None:
    """Ask about a column in which numbers and words stand, as where two scales were put together,
    beside one that holds numbers alone."""
    for name, cells, against in (
        ("verdicts", verdicts, labels),
        ("labels", labels, verdicts),
    ):
        mixed = 1 - NUMBERS < cells.numeric < NUMBERS
        if mixed and against.said and against.numeric >= NUMBERS:
            words = [word for word in cells.distinct_words() if number_of(word) is None]
            numbers = cells.distinct_numbers()
            raise Question(
                f"among the {name} stand numbers ({numbers[0]:g} to {numbers[-1]:g}) and words"
                f" ({', '.join(words[:4])}), as if they were on two scales. Write them on one.",
                [
                    Way(
                        "If the words are no grades (they then count as missing), type",
                        _NUMERIC,
                    ),
                    Way("if all of them are categories:", [(KIND, "unordered")]),
                ],
            ).at(door)


_NUMERIC = [(KIND, "numeric")]


def _of_shares(verdicts: Cells, labels: Cells, door: Door) -> Scales | None:
    """The scale from 0 to 1 where the judge says pass or fail, and the labels are shares of people
    who say so."""
    shares = labels.distinct_numbers()
    if (
        labels.numeric < NUMBERS
        or verdicts.numeric
        or not is_two(verdicts)
        or not verdicts.said
    ):
        return None
    # Two numbers may be 0 and 1, which are pass and fail in another spelling.
    if len(shares) < 3 or shares[0] < 0 or shares[-1] > 1:
        return None
    words = {word: float(word in PASSES) for word in verdicts.distinct_words()}
    note = Finding(
        "table.words_as_shares", {"words": list(words), **spelled(door, JUDGE)}
    )
    return Scales("numeric", (0.0, 1.0), (), words, None, notes=(note,))


def _kind(verdicts: Cells, labels: Cells, options: TableOptions) -> Kind:
    # The judge's verdicts decide, as it is they that are examined.
    said = verdicts if verdicts.said else labels
    both = set(verdicts.distinct_words()) | set(labels.distinct_words())
    if said.numeric >= NUMBERS:
        two = is_two(verdicts) and is_two(labels)
        # 0 and 1 on both sides are pass or fail; on one side alone they may be the ends
        # of a share.
        if two and not options.scale and set(said.distinct_numbers()) <= {0.0, 1.0}:
            return "pass_fail"
        return "numeric"
    if options.passes is not None:
        return "pass_fail"
    if is_two(verdicts) and is_two(labels):
        return "pass_fail"
    if order_of(both) is not None:
        return "ordered"
    return "unordered"


def is_two(cells: Cells) -> bool:
    """Whether the cells say nothing but pass and fail (0 and 1 included)."""
    return set(cells.distinct_words()) <= PASSES | FAILS | {"0", "1"}


def order_of(words: set[str]) -> Sequence[Sequence[str]] | None:
    """The known order that all the words are from, three at least or two of one that are not pass
    and fail."""
    for order in ORDERS:
        places = {
            place
            for place, names in enumerate(order)
            for name in names
            if name in words
        }
        # One foreign word, and it is another scale with some words in common.
        if len(places) >= 2 and words <= {name for names in order for name in names}:
            return order
    return None


def _pairwise(
    verdicts: Cells,
    labels: Cells,
    options: TableOptions,
    door: Door,
    beside: Beside | None,
) -> Scales:
    choices, notes = _choices(verdicts, labels)
    ours = _typed_choices(options.scale, SCALE, door)
    # Said of the judge, it holds for people who write the same words: nobody means A by
    # 1 in one column and B in the next.
    theirs = _typed_choices(options.human_scale, LABEL_SCALE, door) or (
        ours if ours and set(labels.distinct_words()) <= ours.keys() else None
    )
    # 0 and 1 name the first output in some files and the second in others. Guessed
    # wrongly, a judge that is always right would be refuted.
    if (ours is None and _is_coded(verdicts)) or (theirs is None and _is_coded(labels)):
        raise _which_is_first(verdicts, labels, options, door, beside)
    of_verdicts, of_labels = ours or choices, theirs or choices
    ties = any(
        places.get(word) == 2
        for cells, places in ((verdicts, of_verdicts), (labels, of_labels))
        for word in cells.distinct_words()
    )
    odd = [word for word in verdicts.distinct_words() if word not in of_verdicts]
    if odd and len(odd) == len(verdicts.distinct_words()):
        shown = ", ".join(odd[:4])
        way = (
            "Write 1 or 2 (the output's number), A or B, or tie; or name the kind of verdict with"
            f" {door.option(KIND)}"
        )
        raise ConfigError(
            f"the choices of the judge are {shown}, which name none of two outputs. {way}."
        )
    # A category that nobody can choose would add nothing to kappa, and a column to
    # every table.
    categories = (FIRST, SECOND, TIE) if ties else (FIRST, SECOND)
    notes.append(Finding("table.pairwise", spelled(door, KIND), subject=Subject.KIND))
    return Scales(
        "pairwise", None, categories, of_verdicts, of_labels, notes=tuple(notes)
    )


def _typed_choices(
    scale: str | None, option: Option, door: Door
) -> dict[str, float] | None:
    """What the words of choices mean where that is typed: what chooses the first output, the
    second, and a tie. Raises ConfigError for anything else."""
    if scale is None:
        return None
    _, words = typed_scale(scale, door.option(option))
    if len(words) not in (2, 3):
        raise ConfigError(
            f"{door.option(option)} is {brief(scale)}; of choices between two outputs give what"
            " chooses the first and what chooses the second, and perhaps a tie:"
            f" {door.typed(option, 'A<B<tie')}."
        )
    return {_key(word): float(place) for place, word in enumerate(words)}


def _is_coded(cells: Cells) -> bool:
    """Whether numbers choose one of two outputs, and nothing tells which."""
    return frozenset(cells.distinct_words()) in CODES


def _which_is_first(
    verdicts: Cells,
    labels: Cells,
    options: TableOptions,
    door: Door,
    beside: Beside | None,
) -> ConfigError:
    """That it is not known which number chooses the first output. The likelier way comes first: as
    the other side chooses in the same items, or else what is usual."""
    sides = {SCALE: verdicts, LABEL_SCALE: labels}
    coded = {option: cells for option, cells in sides.items() if _is_coded(cells)}
    widest = max(coded.values(), key=lambda cells: len(cells.distinct_words()))
    if all(
        cells.distinct_words().keys() <= widest.distinct_words().keys()
        for cells in coded.values()
    ):
        coded = {next(iter(coded)): widest}  # one option says it of both sides
    # The order in which ways are shown is the whole guess; none of them is taken.
    likely = {option: _likely(cells) for option, cells in coded.items()}
    ((option, own), *_) = coded.items()
    other = labels if option is SCALE else verdicts
    if beside is not None and other.said and not _is_coded(other):
        choosing = sorted(
            set(other.distinct_words()) & CHOICES.keys(), key=lambda w: CHOICES[w]
        )
        known = [word for word in choosing if CHOICES[word] < 2]
        likely[option][:2] = beside.ordered(
            likely[option][:2], known, option is LABEL_SCALE
        )
    ways = [
        [
            (each, "<".join((*words[:2][::step], *words[2:])))
            for each, words in likely.items()
        ]
        for step in (1, -1)
    ]
    first, second = likely[option][:2]
    shown = " and ".join(f"{number:g}" for number in own.distinct_numbers())
    asked = [
        Way(f"If {first} chooses the first one, type", ways[0]),
        Way(f"if {second} does:", ways[1]),
    ]
    if options.kind is None:
        asked = [Way(before, [(KIND, "pairwise"), *typed]) for before, typed in asked]
        if is_two(verdicts) and is_two(labels):
            asked.append(
                Way("if they say pass or fail of both together:", [(KIND, "pass_fail")])
            )
    return Question(
        f"the {'choices' if option is SCALE else 'labels'} between two outputs are {shown}, and"
        " nothing says which number chooses the first output.",
        asked,
    ).at(door)


def _likely(cells: Cells) -> list[str]:
    """What most probably chooses the first output, the second, and a tie if there is one."""
    words = frozenset(cells.distinct_words())
    tie = CODES[words]
    ordered = sorted(words - {tie}, key=lambda word: number_of(word) or 0.0)
    if tie == "0.5":
        # the share of the first output: 1 is its win, a half is a tie
        ordered.reverse()
    return [*ordered, *([] if tie is None else [tie])]


def _choices(verdicts: Cells, labels: Cells) -> tuple[dict[str, float], list[Finding]]:
    """What the words of choices mean: 0 beside 1 and 2 is a tie, and a number between 1 and 2 leans
    to the nearer one."""
    choices = {word: float(place) for word, place in CHOICES.items()}
    notes = []
    for cells in (verdicts, labels):
        words = cells.distinct_words()
        if {"0", "2"} <= words.keys() and "0" not in choices:
            choices["0"] = 2.0
            notes.append(Finding("table.zero_is_tie", {}))
    between = {
        word: count
        for cells in (verdicts, labels)
        for word, count in cells.distinct_words().items()
        if (number := number_of(word)) is not None and 1 < number < 2
    }
    for word in between:
        number = number_of(word) or 0.0
        choices[word] = 2.0 if number == 1.5 else float(number > 1.5)
    if between:
        notes.append(Finding("table.halves", {"n": sum(between.values())}))
    return choices, notes


def _numeric(
    verdicts: Cells,
    labels: Cells,
    ends: tuple[float, float] | None,
    theirs: tuple[float, float] | None,
    door: Door,
) -> Scales:
    numbers, given = verdicts.distinct_numbers(), labels.distinct_numbers()
    if labels.said and labels.numeric < NUMBERS:
        return _labels_in_words(verdicts, labels, ends, door)
    notes: list[Finding] = []
    guessed = ends is None
    # Declared ends are kept, whatever the numbers; what lies beyond them is then told
    # as off the scale.
    if ends is None:
        if theirs is None:
            _check_no_grades(verdicts, labels, door)
        ends = _ends(numbers) if len(numbers) else _ends(given)
        if len(given) and theirs is None:
            ends, theirs = _side_by_side(verdicts, given, ends, notes, door)
    elif theirs is None:
        _check_declared(ends, given, door)
    mapped = (1.0, 0.0)
    if theirs is not None and theirs != ends:
        # A straight line from end to end, since nothing is known of what lies between.
        # It is told, and with `in_grades` goes the other way.
        factor = (ends[1] - ends[0]) / (theirs[1] - theirs[0])
        mapped = (factor, ends[0] - factor * theirs[0])
    # Labels on the same scale show it too: verdicts from 2 to 4 beside labels from 1 to 5.
    shown = (
        np.union1d(numbers, given) if theirs is None or not len(numbers) else numbers
    )
    notes.append(_said(ends, guessed, shown, door))
    other = theirs if mapped != (1.0, 0.0) else None
    return Scales("numeric", ends, mapped=mapped, theirs=other, notes=tuple(notes))


def _side_by_side(
    verdicts: Cells,
    given: np.ndarray,
    ends: tuple[float, float],
    notes: list[Finding],
    door: Door,
) -> tuple[tuple[float, float], tuple[float, float] | None]:
    """The scale of the verdicts beside labels, and that of the labels where it is another. Raises
    ConfigError where they may be on one or on two."""
    numbers = verdicts.distinct_numbers()
    together = _ends(np.union1d(numbers, given))
    other = _ends(given)
    # a constant says nothing of its scale
    if len(numbers) == 1 and other[0] <= numbers[0] <= other[1]:
        ends = other
    elif len(given) == 1 and ends[0] <= given[0] <= ends[1]:
        other = ends
    # Verdicts from 1 to 5 beside labels from 1 to 4 are one scale, on which people
    # never gave a 5.
    if _nearly_one(numbers, given):
        ends = other = together
    core = _ends(_trimmed(verdicts))
    if _far(ends, other) and core in ROUND_ENDS and not _far(core, other):
        ends = core  # some stray numbers, which are then off the scale
        together = _ends(np.union1d(_trimmed(verdicts), given))
    # A share and a percentage are the same thing by a factor that everybody knows. Of
    # all other scales it is asked.
    if _far(ends, other) and _percent(ends, other):
        told: dict[str, Any] = {
            "labels_low": other[0],
            "labels_high": other[1],
            "low": ends[0],
            "high": ends[1],
        }
        told |= spelled(door, LABEL_SCALE, SCALE)
        notes.append(Finding("table.mapped", told))
        return ends, other
    if _far(ends, other):
        raise Question(
            f"labels and verdicts seem to be on different scales: labels from {given[0]:g}"
            f" to {given[-1]:g}, verdicts from {numbers[0]:g} to {numbers[-1]:g}.",
            [
                Way("Declare both:", _declared(ends, other)),
                Way(
                    "where a high label stands for a low verdict:",
                    _declared(ends, other[::-1]),
                ),
                Way("or the same for both:", _declared(together, together)),
            ],
        ).at(door)
    return together, None


def _labels_in_words(
    verdicts: Cells, labels: Cells, ends: tuple[float, float] | None, door: Door
) -> Scales:
    """The scale from 0 to 1 where the verdicts are such numbers and the labels say pass or fail.
    Raises ConfigError for other words."""
    numbers = verdicts.distinct_numbers()
    two = set(labels.distinct_words()) <= PASSES | FAILS
    # "Pass" is 1 only where the judge says how likely a pass is.
    if two and ends is None and _ends(numbers) == (0.0, 1.0):
        words = {word: float(word in PASSES) for word in labels.distinct_words()}
        note = Finding(
            "table.words_as_numbers", {"words": list(words), **spelled(door, LABEL)}
        )
        notes = (note, _said((0.0, 1.0), True, numbers, door))
        return Scales("numeric", (0.0, 1.0), (), None, words, notes=notes)
    raise ConfigError(
        f"the verdicts are numbers (e.g. {_some(verdicts)}), and the labels are words (e.g."
        f" {_some(labels)}). Write both in numbers or both in words; or name other columns with"
        f" {door.option(JUDGE)} and {door.option(LABEL)}."
    )


def _check_declared(ends: tuple[float, float], given: np.ndarray, door: Door) -> None:
    """Ask for the scale of the labels where they are not on the declared one. What may mean that
    there is no grade, such as 999, is then off the scale, and told as such."""
    off = (given < ends[0]) | (given > ends[1])
    if not off.any() or not (off[~np.isin(given, NO_GRADES)].any() or off.all()):
        return
    raise Question(
        f"labels from {given[0]:g} to {given[-1]:g} are not on the declared scale"
        f" {door.typed(SCALE, _typed_as(ends))}.",
        [Way("Declare theirs:", [(LABEL_SCALE, _typed_as(_ends(given)))])],
    ).at(door)


def _check_no_grades(verdicts: Cells, labels: Cells, door: Door) -> None:
    """Ask whether a number that stands apart is a grade: 0 beside labels from 1 to 5, -1, 99. A few
    high ones are off the scale in any case, which is told."""
    for name, cells, against in (
        ("verdicts", verdicts, labels),
        ("labels", labels, verdicts),
    ):
        own, other = cells.distinct_numbers(), against.distinct_numbers()
        if name == "verdicts" and len(other) and len(own):
            # A stray high verdict, such as 2024 for a grade, is off the scale, and must
            # not make 99 look like a grade.
            own = own[own <= max(_trimmed(cells)[-1:], default=own[-1])]
        odd = [float(number) for number in (own[:1], own[-1:]) for number in number]
        for number in (number for number in odd if number in NO_GRADES):
            rest = own[own != number]
            # It is asked, because both readings occur: as a grade, -1 is the worst
            # there is; read as missing, the worst items would be left out.
            if not len(rest) or not _is_no_grade(
                number, rest, other[other != number], other
            ):
                continue
            inside = np.union1d(rest, other[other != number])
            low, high = _ends(inside)
            wide = (min(low, number), max(high, number))
            pass_fail = set(inside) <= {0.0, 1.0}
            least = (
                (KIND, "pass_fail") if pass_fail else (SCALE, _typed_as((low, high)))
            )
            raise Question(
                f"{number:g} stands among the {name}, and what stands beside it runs from"
                f" {inside[0]:g} to {inside[-1]:g}: it may be a grade, or mean that there is none.",
                [
                    Way("If there is none (it then counts as missing), type", [least]),
                    Way("if it is a grade:", [(SCALE, _typed_as(wide))]),
                ],
            ).at(door)


def _is_no_grade(
    number: float, rest: np.ndarray, others: np.ndarray, other: np.ndarray
) -> bool:
    """Whether a number at the end of one side may mean that there is no grade. `rest`: the other
    numbers of the side; `others` those of the other side without it, which are all of `other` where
    that side never uses it."""
    never = len(others) == len(other)
    inside = np.union1d(rest, others)
    if (inside != np.round(inside)).any() and number == 0.0:
        return False
    if number == 0.0:
        # A grade of 0 that people never gave is strange only where their scale begins at 1.
        levels = len(others) >= 3 and others[0] == 1
        return bool(never and levels and rest[0] >= 1 and rest[-1] <= others[-1])
    # A negative grade beside grades from 0 or 1 on lies alone.
    if number < 0:
        return bool(inside[0] >= (0 if never and len(others) else 1))
    return bool(number >= 9 * max(inside[-1], 1) and inside[-1] <= 10)


def _nearly_one(numbers: np.ndarray, given: np.ndarray) -> bool:
    """Whether whole numbers of both sides begin alike and reach nearly as far, so that the usual
    scales that hold them differ for no good reason: 0 to 5, and 0 to 6."""
    both = np.union1d(numbers, given)
    if not len(numbers) or not len(given) or (both != np.round(both)).any():
        return False
    spans = sorted(float(np.ptp(own)) for own in (numbers, given))
    return bool(
        abs(numbers[0] - given[0]) <= 1
        and spans[0] >= 0.7 * spans[1]
        and len(both) <= 12
    )


def _said(
    ends: tuple[float, float], guessed: bool, numbers: np.ndarray, door: Door
) -> Finding:
    """What is said of the scale: whether it was declared, is shown by the values, or cannot be told
    from them."""
    told = {"low": ends[0], "high": ends[1]}
    if guessed and len(numbers) and far_inside(numbers, ends):
        more = {
            "least": float(numbers[0]),
            "most": float(numbers[-1]),
            "option": door.typed(SCALE, _typed_as(ends)),
        }
        return Finding("table.numeric_guess", told | more, subject=Subject.KIND)
    if guessed:
        ways = {**spelled(door, SCALE), "option": door.typed(KIND, "ordered")}
        return Finding("table.numeric", told | ways, subject=Subject.KIND)
    return Finding("table.numeric_declared", told, subject=Subject.KIND)


def far_inside(
    numbers: Sequence[float] | np.ndarray, ends: tuple[float, float]
) -> bool:
    """Whether numbers in their order are all far from both ends of a scale, so that they may be on
    another."""
    # Grades of 3 and 4 may be those of a scale from 1 to 5, or from 0 to 10.
    near = (ends[1] - ends[0]) / 4
    return bool(ends[0] + near <= numbers[0] and numbers[-1] <= ends[1] - near)


def _ends(numbers: np.ndarray) -> tuple[float, float]:
    """The narrowest usual scale that holds the numbers; without one, their own ends."""
    if not len(numbers):
        return 0.0, 1.0
    low, high = float(numbers[0]), float(numbers[-1])
    whole = bool((numbers == np.round(numbers)).all())
    for ends in ROUND_ENDS:
        if ends[0] <= low and high <= ends[1]:
            seen_all = len(numbers) == ends[1] - ends[0] + 1
            if ends[1] not in RARE_ENDS or (whole and seen_all):
                return ends
    # A scale has a width, also where one number stands in every cell.
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _trimmed(cells: Cells) -> np.ndarray:
    """The numbers without the most extreme ones, of at most 3 % of the cells."""
    order = np.argsort(cells.numbers)[: np.count_nonzero(~np.isnan(cells.numbers))]
    share = np.cumsum(cells.counts[order]) / max(1, cells.counts[order].sum())
    # By how often a number comes, and not by how far out it lies: the end of a scale is
    # far out, and frequent.
    kept = (share > STRAY) & (np.concatenate([[0.0], share[:-1]]) < 1 - STRAY)
    return np.unique(cells.numbers[order][kept])


def _far(ends: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether one scale is so much wider that the two can hardly be one."""
    wider, narrower = sorted((ends, other), key=lambda e: e[0] - e[1])
    return wider[1] >= 2 * narrower[1] or wider[1] - wider[0] >= 2 * (
        narrower[1] - narrower[0]
    )


def _percent(ends: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether one is a share and the other a percentage."""
    return {ends, other} == {(0.0, 1.0), (0.0, 100.0)}


MOST_TYPED = 7
"""Most categories of which an error shows how to type them."""


def _categories(
    kind: Kind,
    verdicts: Cells,
    labels: Cells,
    order: list[str],
    their_order: list[str],
    options: TableOptions,
    door: Door,
    beside: Beside | None = None,
) -> Scales:
    """The categories of verdicts and labels, and the place of each. Raises ConfigError."""
    words, given = verdicts.distinct_words(), labels.distinct_words()
    every = {*words, *given}
    if kind == "pass_fail":
        return _pass_fail(verdicts, labels, order, options, door)
    known = order_of(every) if kind == "ordered" else None
    none_in_common = bool(words and given) and not set(words) & set(given)
    if none_in_common and known is None and not (order and their_order):
        raise _nothing_in_common(verdicts, labels, door, beside)
    if order and (kind == "ordered" or their_order):
        return _as_declared(kind, order, their_order or order, door)
    if kind == "ordered":
        return _ordered(verdicts, labels, known, door)
    if order:
        places = _places(map(_key, order))
        return Scales("unordered", None, tuple(order), places, places)
    # What the judge says, too, is a category; of people alone A|B accepts both.
    names = [
        name
        for name in sorted(every)
        if name in words or not names_several(name, every - {name})
    ]
    mapping = _places(names)
    written = _as_written(names, verdicts, labels)
    return _named("unordered", written, mapping, spelled(door, KIND, SCALE))


def _places(names: Iterable[str]) -> dict[str, float]:
    """The place of each category, from 0."""
    return {name: float(place) for place, name in enumerate(names)}


def _as_declared(
    kind: Kind, order: Sequence[str], their_order: Sequence[str], door: Door
) -> Scales:
    """The categories that somebody declared, those of people in their own words."""
    if len(their_order) != len(order):
        raise ConfigError(
            f"{door.option(SCALE)} has {len(order)} categories and {door.option(LABEL_SCALE)}"
            f" {len(their_order)}; a label can be put in the place of a verdict only where both"
            " have as many."
        )
    ours = _places(map(_key, order))
    theirs = _places(map(_key, their_order))
    return Scales(kind, None, tuple(order), ours, theirs)


def _ordered(
    verdicts: Cells,
    labels: Cells,
    known: Sequence[Sequence[str]] | None,
    door: Door,
) -> Scales:
    """Categories whose order is `known` from their words (groups of words that say the same), or
    that are numbers."""
    words, given = verdicts.distinct_words(), labels.distinct_words()
    every = {*words, *given}
    if known is not None:
        used = [[name for name in group if name in every] for group in known]
        used = [group for group in used if group]
        # Of words that say the same, the most frequent names the category.
        for group in used:
            group.sort(key=lambda name: -words.get(name, 0) - given.get(name, 0))
        mapping = {
            name: float(place) for place, group in enumerate(used) for name in group
        }
        names = _as_written([group[0] for group in used], verdicts, labels)
        return _named("ordered", names, mapping, spelled(door, SCALE))
    numbers = np.union1d(verdicts.distinct_numbers(), labels.distinct_numbers())
    if len(numbers) == len(every):
        are_whole = (numbers == np.round(numbers)).all()
        # A grade between two others is one, though nobody gave it.
        if are_whole and numbers[-1] - numbers[0] < MOST_LEVELS:
            numbers = np.arange(numbers[0], numbers[-1] + 1)
        names = [f"{number:g}" for number in numbers]
        return _named("ordered", names, _places(names), spelled(door, SCALE))
    listed = ", ".join(_as_written(sorted(every)[:8], verdicts, labels))
    raise Question(
        f"the order of the categories is not known ({listed}). Declare it with"
        f" {door.option(SCALE)}: all of them, the lowest first, with < between them.",
        [Way("Without an order, type", [(KIND, "unordered")])],
    ).at(door)


def _nothing_in_common(
    verdicts: Cells, labels: Cells, door: Door, beside: Beside | None
) -> ConfigError:
    """That labels and verdicts have no category in common. How they may correspond is asked where
    something tells it: an order that is known, or what stands beside what."""
    words, given = list(verdicts.distinct_words()), list(labels.distinct_words())
    what = (
        f"labels and verdicts have no category in common: labels {_some(labels)}; verdicts"
        f" {_some(verdicts)}."
    )
    rule = (
        f"Declare both ({door.option(SCALE)}, {door.option(LABEL_SCALE)}), all categories with <"
        " between them, the lowest first and in the same order; or write them in the same words."
    )
    if len(words) != len(given) or not 2 <= len(words) <= MOST_TYPED:
        counts = (
            f"There are {len(given)} categories of labels and {len(words)} of verdicts"
        )
        more = "" if len(words) == len(given) else f" {counts}, and both need as many."
        return ConfigError(f"{what} {rule}{more}")
    of_judge, of_people = in_order(words), in_order(given)
    if of_judge and of_people:
        return Question(what, [Way("Declare both:", _orders(of_judge, of_people))]).at(
            door
        )
    if beside is not None and (of_judge or of_people):
        if of_people:
            guessed = beside.ordered(words, of_people, of_labels=False)
            ways = [_orders(guessed, of_people), _orders(guessed[::-1], of_people)]
        else:
            guessed = beside.ordered(given, of_judge or [], of_labels=True)
            ways = [_orders(of_judge or [], each) for each in (guessed, guessed[::-1])]
        return Question(
            f"{what} Only of one side the order is known.",
            [
                Way("If the judge mostly means what people mean, type", ways[0]),
                Way("if it is the other way round:", ways[1]),
            ],
        ).at(door)
    if beside is not None and (matched := beside.matched(words, given)):
        own = [*matched]
        typed = [(KIND, "unordered"), *_orders(own, [matched[word] for word in own])]
        before = "If each stands for the one that people say most often where the judge says it:"
        return Question(what, [Way(before, typed)]).at(door)
    return ConfigError(f"{what} {rule}")


def in_order(words: Collection[str]) -> list[str] | None:
    """Words in their order, where that is known: numbers, or words of one known order."""
    numbers = {word: number_of(word) for word in words}
    if all(number is not None for number in numbers.values()):
        return sorted(words, key=lambda word: numbers[word] or 0.0)
    known = order_of(set(words))
    if known is None:
        return None
    place = {name: n for n, names in enumerate(known) for name in names}
    ordered = sorted(words, key=lambda word: place[word])
    return ordered if len({place[word] for word in words}) == len(ordered) else None


def _orders(
    of_judge: Sequence[str], of_people: Sequence[str]
) -> list[tuple[Option, str]]:
    return [(SCALE, "<".join(of_judge)), (LABEL_SCALE, "<".join(of_people))]


def _named(
    kind: Kind,
    names: Sequence[str],
    mapping: Mapping[str, float],
    told: Mapping[str, str],
) -> Scales:
    """The scale of categories that are named in their order, and what is said of it; `told`: the
    options that declare another."""
    about = {"names": names[:12], "n": len(names), **told}
    note = Finding(f"table.{kind}", about, subject=Subject.KIND)
    return Scales(kind, None, tuple(names), mapping, mapping, notes=(note,))


def _pass_fail(
    verdicts: Cells, labels: Cells, order: list[str], options: TableOptions, door: Door
) -> Scales:
    words, given = verdicts.distinct_words(), labels.distinct_words()
    everything = list(dict.fromkeys([*words, *given]))
    if order:
        passing = {_key(order[-1])}
        failing = {_key(name) for name in order[:-1]}
    elif options.passes is not None:
        passing = {_key(name) for name in options.passes.split(",")}
        if not passing & set(everything):
            raise ConfigError(
                f"{door.option(PASSING)} is {brief(options.passes)}, which is no category:"
                f" {', '.join(everything)}."
            )
        failing = set(everything) - passing
    else:
        passing, failing = PASSES | {"1"}, FAILS | {"0"}
        if options.kind == "pass_fail":
            # Any other number is no verdict, as where a program wrote -1 for an answer it could
            # not read.
            everything = [
                w for w in everything if number_of(w) is None or w in ("0", "1")
            ]
        if unknown := [word for word in everything if word not in passing | failing]:
            shown = ", ".join(unknown[:4])
            raise Question(
                f"which category passes is not known ({shown}).",
                [Way("Name it:", [(PASSING, unknown[0])])],
            ).at(door)
    mapping = dict.fromkeys(failing, 0.0) | dict.fromkeys(passing, 1.0)
    yes = next((w for w in everything if w in passing and w != "1"), "pass")
    no = next((w for w in everything if w in failing and w != "0"), "fail")
    no, yes = _as_written([no, yes], verdicts, labels)
    passed = [word for word in everything if word in passing]
    told: dict[str, Any] = {"fails": no, **spelled(door, PASSING)}
    note = Finding("table.none_passes", told, subject=Subject.KIND)
    if passed:
        told |= {"passes": yes, "words": passed, "n": len(passed)}
        note = Finding("table.pass_fail", told, subject=Subject.KIND)
    return Scales("pass_fail", None, (no, yes), mapping, mapping, notes=(note,))


def _as_written(words: Sequence[str], *cells: Cells) -> list[str]:
    """The words as they are most often written, with their capitals and accents."""
    counted: dict[str, dict[str, int]] = {}
    for held in cells:
        for word, written, count in zip(
            held.words, held.written, held.counts, strict=True
        ):
            if word is not None:
                ways = counted.setdefault(word, {})
                ways[written.strip()] = ways.get(written.strip(), 0) + int(count)
    return [
        max(counted[word], key=lambda way: counted[word][way])
        if word in counted
        else word
        for word in words
    ]


def typed_scale(
    scale: str | None, option: str, either_way: bool = False
) -> tuple[tuple[float, float] | None, list[str]]:
    """The ends, or the ordered categories, that an option declares; `either_way`: the higher end
    may stand first, where it stands for the lowest of the other side."""
    if scale is None:
        return None, []
    if "<" in scale:
        names = [name.strip() for name in scale.split("<")]
        if all(names) and len(set(map(_key, names))) == len(names):
            return None, names
    else:
        parts = scale.replace("..", ":").replace(" ", "")
        for mark in (":", "-"):
            low = parts[:1] + parts[1:].partition(mark)[0]
            _ = ""
            high = parts[1:].partition(mark)[2]
            bottom, top = number_of(low), number_of(high)
            if bottom is None or top is None or bottom == top:
                continue
            if bottom < top or either_way:
                return (bottom, top), []
    example = (
        "two ends (1-5) or categories in their order, the lowest first ('bad<ok<good')"
    )
    raise ConfigError(f"{option} is {brief(scale)}; give {example}.")


def _declared(
    ends: tuple[float, float], theirs: tuple[float, float]
) -> list[tuple[Option, str]]:
    """How the scales of verdicts and of labels are declared."""
    return [(SCALE, _typed_as(ends)), (LABEL_SCALE, _typed_as(theirs))]


def _typed_as(ends: tuple[float, float]) -> str:
    return f"{ends[0]:g}{':' if ends[0] < 0 else '-'}{ends[1]:g}"


def _key(name: str) -> str:
    number = number_of(name.strip())
    return fold(name) if number is None else f"{number:g}"


def _some(cells: Cells) -> str:
    return ", ".join(cells.examples(3))
