"""Puts the labels of people on the scale of the rubric, and says what had to be assumed for that.

A scale is assumed only where the values leave no doubt; where they do, the error shows the guess
and the option that settles it. Labels are never reversed unless that is typed.
"""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from undogmatic.config.build import Settings, build
from undogmatic.datasets.base import Assumes, Dataset, Judged
from undogmatic.datasets.cells import fold
from undogmatic.datasets.scales import ROUND_ENDS, far_inside, order_of
from undogmatic.datasets.vocabulary import FAILS, PASSES
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.evidence import Evidence
from undogmatic.records.kept import gathered
from undogmatic.records.records import OVERALL, UNNAMED, Item, Label, LabelScale, Name
from undogmatic.records.results import Finding, Subject
from undogmatic.records.rubric import NumericScale, Rubric
from undogmatic.safety.outside import brief

# With fewer, all labels may well lie in the lowest tenth of the scale they are on
FEWEST_LABELS = 5
TEXTS = Path(__file__).with_name("table.texts.yaml")
"""The words of what is assumed of labels and of tables."""
OPTION = "dataset.label_scale="


def _option(scale: LabelScale) -> str:
    """How a scale is typed in a shell."""
    typed = OPTION + scale.shown()
    return f"'{typed}'" if re.search(r"[\s<>|&;()!]", typed) else typed


JUDGED_ALREADY = ("items.verdicts", "items.log")
"""What is told of a table that holds verdicts, though it was given to be judged."""


class Labelled(NamedTuple):
    """Items with their labels on the rubric's scale, the labels' own scale where it is another one,
    and what was assumed."""

    items: Sequence[Item]
    scale: LabelScale | None
    notes: tuple[Finding, ...]


class Loaded(NamedTuple):
    """A dataset that was read, and what was read."""

    dataset: Dataset
    labelled: Labelled


def load(chosen: Settings) -> Loaded:
    """Read the dataset of a config, with its labels on the scale of the rubric. Raises ConfigError,
    DataError."""
    dataset: Dataset = build(chosen.dataset, "dataset")
    rubric: Rubric = build(chosen.rubric, "rubric")
    try:
        items = dataset.load(rubric) if isinstance(dataset, Judged) else dataset.load()
        return Loaded(dataset, read_labels(items, rubric))
    except (ConfigError, DataError) as error:
        # What cannot be judged as it stands may have been meant to be checked.
        read = dataset.read if isinstance(dataset, Assumes) else ()
        held = next((note for note in read if note.key in JUDGED_ALREADY), None)
        if held is None:
            raise
        way = f"It holds verdicts already. To check them: {held.values['command']}"
        raise type(error)(f"{error} {way}") from None


def on_scale(items: Iterable[Item], rubric: Rubric) -> Sequence[Item]:
    """The items of `read_labels`."""
    return read_labels(items, rubric).items


def read_labels(items: Iterable[Item], rubric: Rubric) -> Labelled:
    """Read the labels of the items as numbers of the rubric's scale: those of a scale that is
    declared, and the overall ones; a second call changes nothing. Raises DataError for a label that
    is not on the scale, by its place and rater; or for labels that all seem to be on another scale,
    where neither the dataset nor the values say which.
    """
    given = gathered(items)
    assumed, notes = _assumed(given, rubric)
    # on this scale from now on
    ends = LabelScale(ends=(rubric.minimum, rubric.maximum))
    scaled = gathered(_scaled(given, rubric, assumed, ends))
    by_criterion: dict[str, _Said] = {}
    for item in scaled:
        for criterion in item.labels:
            by_criterion.setdefault(criterion, _Said()).note(item, criterion)
    for criterion, said in by_criterion.items():
        if said.items >= FEWEST_LABELS and not said.declared:
            check_scale(
                said.file,
                said.numbers,
                rubric,
                criterion,
                "labels",
                f"{OPTION}[{{}},{{}}]",
            )
    declared = next(
        (item.label_scale for item in given if item.labels and item.label_scale), None
    )
    # What is assumed of the overall labels says nothing of others, which then are the rubric's.
    own = declared if len(by_criterion) > 1 else assumed or declared
    return Labelled(
        scaled, None if own is None or own.ends == ends.ends else own, tuple(notes)
    )


def _scaled(
    items: Iterable[Item], rubric: Rubric, assumed: LabelScale | None, ends: LabelScale
) -> Iterator[Item]:
    """The items with their labels as numbers of the rubric's scale: all of them where a scale is
    declared, else the overall ones."""
    for item in items:
        own = item.label_scale or assumed
        placed = (
            item.labels if item.label_scale else {OVERALL: item.labels.get(OVERALL, {})}
        )
        labels = dict(item.labels)
        for criterion, said in placed.items():
            read: dict[Name, Label] = {
                rater: _read(value, own, rubric, item, criterion, rater)
                for rater, value in said.items()
            }
            if read != said:
                labels[criterion] = read
        changed = {"labels": labels, "label_scale": None if own is None else ends}
        yield item if labels == item.labels else item.model_copy(update=changed)


def _read(
    value: Label,
    own: LabelScale | None,
    rubric: Rubric,
    item: Item,
    criterion: str,
    rater: str,
) -> float:
    """One label as a number of the rubric's scale. Raises DataError with its place and rater."""
    try:
        return rubric.read(value, own)
    except ValueError as error:
        whose = "`label`" if rater == UNNAMED else f"the label of {rater!r}"
        whose += "" if criterion == OVERALL else f" on {criterion}"
        place = f"{item.place or 'dataset'}, item {brief(item.id)}"
        why = f"{whose} {error}, the scale of rubric={rubric.name}"
        way = (
            "Correct it, choose the rubric it is on, or give the scale of the labels:"
            f" {OPTION}[LOWEST,HIGHEST]"
        )
        raise DataError(f"{place}: {why}. {way}.") from None


class _Said:
    """The labels of one criterion: of how many items, how many, in which file, and whether a scale
    is declared."""

    def __init__(self) -> None:
        self.items, self.values, self.declared, self.file = 0, 0, False, "dataset"
        self.numbers, self.words = array("d"), set[str]()

    def note(self, item: Item, criterion: str) -> None:
        """Count the labels of an item, if it has any."""
        if not (labels := item.labels.get(criterion)):
            return
        if not self.items:
            self.file = (item.place or "dataset").rpartition(":")[0] or "dataset"
        self.items, self.values = self.items + 1, self.values + len(labels)
        self.declared = self.declared or item.label_scale is not None
        for value in labels.values():
            self.words.add(value) if isinstance(value, str) else self.numbers.append(
                value
            )


def _assumed(
    items: Sequence[Item], rubric: Rubric
) -> tuple[LabelScale | None, list[Finding]]:
    """The scale of the overall labels of which none was declared, and what is said of it; None
    where it is the rubric's own. Raises DataError where labels are words, and which of them stands
    for a high score is not clear.
    """
    unsaid = _Said()
    for item in items:
        if item.label_scale is None:
            unsaid.note(item, OVERALL)
    words, numbers = unsaid.words, unsaid.numbers
    found: LabelScale | None = None
    if words and not numbers:
        found = _of_words(words, rubric, unsaid.file)
    elif (
        numbers
        and not words
        and isinstance(rubric.scale, NumericScale)
        and unsaid.items >= FEWEST_LABELS
    ):
        found = _of_numbers(numbers, rubric)
    if found is None:
        return None, []
    low, high = (
        (found.words[0], found.words[-1])
        if found.ends is None
        else (f"{end:g}" for end in found.ends)
    )
    back = found.model_copy(
        update={"ends": found.ends and found.ends[::-1], "words": found.words[::-1]}
    )
    ends = {
        "lowest": rubric.scale.write(rubric.minimum),
        "highest": rubric.scale.write(rubric.maximum),
    }
    told = {
        "low": low,
        "high": high,
        "same": _option(found),
        "back": _option(back),
        **ends,
    }
    notes = [
        Finding("labels.assumed", told | {"rubric": rubric.name, "n": unsaid.values})
    ]
    if rubric.direction == "higher_is_worse":
        notes.append(Finding("labels.worse", told, subject=Subject.WORSE))
    return found, notes


def _of_numbers(values: Sequence[float], rubric: Rubric) -> LabelScale | None:
    """The usual scale whose two ends the values reach, at least nearly, where they cannot be on the
    rubric's own."""
    if all(map(rubric.contains, values)) and seem_rescaled(values, rubric) is None:
        return None
    low, high = min(values), max(values)
    for start, end in ROUND_ENDS:
        near = (end - start) / 10
        # rare, and part of one with more levels
        few = end in (3.0, 4.0) and len(set(values)) != end - start + 1
        if start <= low <= start + near and end - near <= high <= end and not few:
            return LabelScale(ends=(start, end), assumed=True)
    return None


def _of_words(words: set[str], rubric: Rubric, file: str) -> LabelScale | None:
    """The order of words that stand for scores. Raises DataError where it is not known, or may be
    either way."""
    written = {fold(word): word for word in sorted(words)}
    by_order = order_of(set(written)) or ()
    places = [
        [written[name] for name in names if name in written] for names in by_order
    ]
    if not places and written.keys() <= PASSES | FAILS:
        places = [
            [written[name] for name in written if name in known]
            for known in (FAILS, PASSES)
        ]
    order = [names[0] for names in places if names]
    clear = len(order) == len(words) > 1
    if not isinstance(rubric.scale, NumericScale):
        names = [fold(name) for name in rubric.scale.categories]
        if written.keys() <= {*names, "true", "false"} or not (
            clear and len(names) == len(order) == 2
        ):
            return None
        if names[0] in PASSES and names[1] in FAILS:
            order.reverse()
        elif not (names[0] in FAILS and names[1] in PASSES):
            return None
        return LabelScale(words=tuple(order), assumed=True)
    if clear and rubric.direction == "higher_is_better":
        return LabelScale(words=tuple(order), assumed=True)
    shown = order if clear else [*list(written.values())[:7]]
    what = (
        f"the labels are words ({', '.join(shown)}), and the scores of rubric={rubric.name} are"
        " numbers"
    )
    why = (
        "a high score is the bad end there, so it is not clear which word stands for it"
        if clear
        else "their order is unknown"
    )
    shown = shown if len(shown) > 1 else [*shown, "..."]
    ways = " or ".join(
        _option(LabelScale(words=tuple(names))) for names in (shown, shown[::-1])
    )
    way = f"Give them in order, what stands for the lowest score first: {ways}"
    raise DataError(f"{file}: {what}; {why}. {way}.")


def seem_rescaled(
    values: Sequence[float], rubric: Rubric, what: str = "labels"
) -> str | None:
    """What is odd about numbers that all lie in the lowest tenth of a numeric scale, and not all on
    its end."""
    low, high = rubric.minimum, rubric.maximum
    if (
        not isinstance(rubric.scale, NumericScale)
        or not values
        or not low < max(values) <= low + (high - low) / 10
    ):
        return None
    whole = f"rubric={rubric.name} runs from {low:g} to {high:g}"
    return (
        f"all {len(values)} {what} lie between {min(values):g} and "
        f"{max(values):g}, while {whole}."
    )


def ends_of(table: Evidence, criterion: str = OVERALL) -> tuple[float, float]:
    """The lowest and highest value of a table's verdicts on a criterion; of categories their
    places."""
    ends = table.criterion_scales.get(criterion, table.scale)
    return ends if ends is not None else (0.0, len(table.categories) - 1.0)


def scale_for(
    table: Evidence,
    criterion: str,
    rubric: Rubric,
    place: str,
    option: str,
    declared: bool,
) -> tuple[float, float]:
    """The ends of the scale of a table's verdicts on a criterion: what is `declared`, or else the
    rubric's own where they may all be on it, or the usual scale that they show. Raises DataError
    with the `option` that says which, where they show none; a few numbers that are off the rubric's
    scale are just that."""
    own, theirs = ends_of(table, criterion), (rubric.minimum, rubric.maximum)
    held = table.verdicts.loc[
        table.verdicts["criterion"] == criterion, "verdict"
    ].dropna()
    numbers = sorted(float(number) for number in held)
    if (
        declared
        or table.kind != "numeric"
        or not numbers
        or not isinstance(rubric.scale, NumericScale)
    ):
        return own
    fitting = [rubric.contains(number) for number in numbers]
    odd = len(numbers) >= FEWEST_LABELS and seem_rescaled(numbers, rubric) is not None
    if all(fitting) and not odd:
        return theirs
    shown = _of_numbers(numbers, rubric) or (
        not odd and 2 * sum(fitting) < len(fitting) and not far_inside(numbers, own)
    )
    if shown and own in ROUND_ENDS:
        return own
    if not odd and any(fitting):
        return theirs
    check_scale(place, numbers, rubric, criterion, "scores", option)
    span = (
        f"{numbers[0]:g} to {numbers[-1]:g}, and rubric={rubric.name} runs from {theirs[0]:g} to"
        f" {theirs[1]:g}"
    )
    way = f"Give the ends of their scale, e.g. {option.format(*(f'{end:g}' for end in own))}"
    raise DataError(f"{place}: the scores of {criterion} run from {span}. {way}.")


def check_scale(
    place: str,
    values: Sequence[float],
    rubric: Rubric,
    criterion: str,
    what: str,
    option: str,
) -> None:
    """Raise DataError where all numbers of a criterion seem to be on another scale, with the
    `option` that says so or that they are meant as they are: it takes the ends as {} and {}."""
    if (
        odd := seem_rescaled(
            values, rubric, what if criterion == OVERALL else f"{what} of {criterion}"
        )
    ) is None:
        return
    low, tenth = rubric.minimum, (rubric.maximum - rubric.minimum) / 10
    start = low + tenth / 10 if min(values) >= low + tenth / 10 else low
    # The usual scales of raters end at 1, 5, 7 and 10; which one it is, only who made the file
    # knows.
    end = next(
        low + tenth * step / 10
        for step in (1, 5, 7, 10)
        if max(values) <= low + tenth * step / 10
    )
    other, same = (
        option.format(f"{a:g}", f"{b:g}")
        for a, b in ((start, end), (low, rubric.maximum))
    )
    way = f"If they are on another scale, give its ends, e.g. {other}: they are mapped linearly"
    raise DataError(f"{place}: {odd} {way}. If they are meant as they are: {same}.")
