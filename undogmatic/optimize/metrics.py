"""Measures what an optimiser raises: a number in [0, 1] per text, pair or block of texts, and what
was wrong in words.

A failed judgment earns 0, the least that an optimiser can be given; it is no score, and the verdict
on the test split leaves it out and counts it.
"""

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.safety.outside import read_yaml
from undogmatic.stats import quality

Of = Literal["text", "pair", "block"]
_read_once = functools.cache(read_yaml)
# texts that are ranked together: an optimiser's metric is a mean over examples, and a rank needs
# several
BLOCK = 8


class Terms(NamedTuple):
    """What a metric must know beside the texts."""

    rubric: Rubric
    criterion: str  # that is judged
    worse: tuple[str, ...] = ()  # the conditions of a pair that are its worse side
    better: tuple[str, ...] = ()

    @property
    def span(self) -> float:
        """Width of the scale."""
        return self.rubric.maximum - self.rubric.minimum

    @property
    def sign(self) -> int:
        """+1 where a high score is the worse one."""
        return 1 if self.rubric.direction == "higher_is_worse" else -1

    def label(self, item: Item) -> float:
        """What people said of an item. Raises DataError where they said nothing."""
        label = item.labelled(self.criterion)
        if label is None:
            raise DataError(
                f"{item.place or 'dataset'}: item {item.id!r} has no label for {self.criterion!r},"
                " which the metric needs. Choose `optimizer.metric=pair_order` for pairs, or a"
                " dataset with labels."
            )
        return label

    def sides(self, items: Sequence[Item]) -> tuple[int, int] | None:
        """Places of the worse and of the better text of a pair, or None where it has not both. Of
        two lists of one length names in the same place belong together, as in the paired
        experiment."""
        places = {item.condition: n for n, item in enumerate(items)}
        named = (
            pair
            for pair in zip(self.worse, self.better, strict=False)
            if places.keys() >= {*pair}
        )
        return next(((places[worse], places[better]) for worse, better in named), None)


class Metric(NamedTuple):
    """What is raised, in [0, 1]."""

    name: str
    of: Of  # a block of texts is ranked
    # Maps a verdict and its label, or the scores of the worse and the better text of a pair (turned
    # so that the worse one should be higher), to the number; None for a rank.
    measure: Callable[[Any, float, Terms], float] | None
    # How the verdict states it: as a share (no unit, and so no margin of the rubric), as a
    # difference of scores, or as a distance, both in units of the scale.
    told: Literal["share", "difference", "distance"] = "share"

    def value(
        self, items: Sequence[Item], verdicts: Sequence[Verdict | None], terms: Terms
    ) -> float:
        """The number for items and what was said of them (None for a failed one)."""
        scores = [None if verdict is None else verdict.score for verdict in verdicts]
        if self.measure is None:
            known = [
                (score, terms.label(item))
                for item, score in zip(items, scores, strict=True)
                if score is not None
            ]
            order = (
                quality.concordance(*map(list, zip(*known, strict=True)))
                if len(known) > 1
                else math.nan
            )
            return 0.0 if math.isnan(order) else order * len(known) / len(items)
        if self.of == "text":
            return (
                0.0
                if verdicts[0] is None
                else self.measure(verdicts[0], terms.label(items[0]), terms)
            )
        sides = terms.sides(items)
        assert sides is not None, "only whole pairs are examples"
        worse, better = (scores[place] for place in sides)
        return (
            0.0
            if worse is None or better is None
            else self.measure(terms.sign * worse, terms.sign * better, terms)
        )


def _close(verdict: Verdict, label: float, terms: Terms) -> float:
    if verdict.score is None:
        return float(verdict.category == terms.rubric.scale.write(label))
    return quality.closeness(verdict.score, label, terms.span)


def _distribution(verdict: Verdict) -> tuple[Sequence[float], Sequence[float]]:
    """The levels and their probabilities. Raises ConfigError for a judge that gives a score
    alone."""
    if verdict.distribution is None:
        raise ConfigError(
            "`optimizer.metric` needs the judge's distribution over the scale, and this judge gives"
            " a score alone. Use readout=logprobs or samples, or optimizer.metric=error."
        )
    return verdict.distribution.values, verdict.distribution.probabilities


METRICS = {
    metric.name: metric
    for metric in (
        Metric(
            "pair_order", "pair", lambda worse, better, _: quality.order(worse, better)
        ),
        Metric(
            "pair_margin",
            "pair",
            lambda a, b, terms: quality.margin(a, b, terms.span),
            "difference",
        ),
        Metric("error", "text", _close, "distance"),
        Metric(
            "log_score",
            "text",
            lambda v, label, _: quality.log_score(*_distribution(v), label),
        ),
        Metric(
            "crps",
            "text",
            lambda v, label, terms: quality.crps(*_distribution(v), label, terms.span),
            "distance",
        ),
        Metric("auc", "block", None),
        Metric("rank_correlation", "block", None),
    )
}


def metric(name: str | None, items: Sequence[Item], terms: Terms) -> Metric:
    """The metric of this name, or the one that the rubric and the items call for: whether pairs are
    put in order where there are pairs, else the distance to the labels.

    Raises:
        ConfigError: There is none of this name, or it has no meaning on the rubric's scale.
        DataError: The items lack what it reads.
    """
    paired = bool(whole_pairs(items, terms))
    labels = {item.labelled(terms.criterion) for item in items} - {None}
    if name is None:
        if not paired and not labels:
            raise DataError(
                "the texts have neither labels nor pairs, so nothing says which answer is better."
                " Give the dataset a column `label`, or `pair` and `condition` with optimizer.worse"
                " and optimizer.better."
            )
        name = "pair_order" if paired else "error"
    if name not in METRICS:
        raise ConfigError(
            f"`optimizer.metric` is {name!r}; there are: {', '.join(METRICS)}."
        )
    chosen = METRICS[name]
    if chosen.of == "pair" and not paired:
        raise DataError(
            f"`optimizer.metric` is {name!r}, and no pair of the dataset has a text of"
            f" optimizer.worse={list(terms.worse)} and one of"
            f" optimizer.better={list(terms.better)}. Name your conditions, or take a metric of"
            " labels: error, rank_correlation."
        )
    if chosen.of != "pair" and not labels:
        raise DataError(
            f"`optimizer.metric` is {name!r}, which needs labels for {terms.criterion!r}, and the"
            " dataset has none."
            f" {'Take optimizer.metric=pair_order.' if paired else 'Add a column `label`.'}"
        )
    if not terms.rubric.scale.ordered and name != "error":
        raise ConfigError(
            f"`optimizer.metric` is {name!r}, and the categories of rubric={terms.rubric.name} have"
            " no order: take optimizer.metric=error (the share of right answers)."
        )
    if name == "auc" and len(labels) != 2:
        raise DataError(
            "`optimizer.metric` is 'auc', which tells two labels apart, and there are"
            f" {len(labels)}. Take optimizer.metric=rank_correlation."
        )
    return chosen


def whole_pairs(items: Sequence[Item], terms: Terms) -> list[list[Item]]:
    """The texts of each pair that has both sides, the worse one first."""
    pairs: dict[str, list[Item]] = {}
    for item in items:
        if item.pair is not None:
            pairs.setdefault(item.pair, []).append(item)
    sided = ((texts, terms.sides(texts)) for texts in pairs.values())
    return [
        [texts[sides[0]], texts[sides[1]]]
        for texts, sides in sided
        if sides is not None
    ]


def units(items: Sequence[Item], by: Metric, terms: Terms) -> list[list[Item]]:
    """What of the items can be measured: the whole pairs, or the texts with a label one by one."""
    if by.of == "pair":
        return whole_pairs(items, terms)
    return [[item] for item in items if item.labelled(terms.criterion) is not None]


def feedback(
    items: Sequence[Item],
    verdicts: Sequence[Verdict | None],
    why: Sequence[str],
    terms: Terms,
    language: str,
) -> str:
    """What was wrong with these judgments, for a model that is to write a better instruction. `why`
    has the reason of each that failed; the sentences are in `language`, or English where there are
    none in it."""
    every = _read_once(Path(__file__).with_name("feedback.yaml"))
    words, write, lines = every.get(language, every["en"]), terms.rubric.scale.write, []
    for item, one, reason in zip(items, verdicts, why, strict=True):
        if one is None:
            lines.append(words["failed"].format(reason=reason))
            continue
        shown = write(one.score) if one.score is not None else str(one.category)
        if one.rationale:
            lines.append(words["reason"].format(score=shown, reason=one.rationale))
        label = item.labelled(terms.criterion)
        if label is not None and one.score is not None:
            away = one.score - label
            key = (
                "right"
                if abs(away) < terms.span / 20
                else "high"
                if away > 0
                else "low"
            )
            lines.append(
                words[key].format(
                    score=shown, label=write(label), away=f"{abs(away):.4g}"
                )
            )
    sides = terms.sides(items) if len(items) > 1 else None
    if sides is not None:
        worse, better = (
            None if (verdict := verdicts[place]) is None else verdict.score
            for place in sides
        )
        if worse is not None and better is not None:
            key = "pair_right" if terms.sign * (worse - better) > 0 else "pair_wrong"
            numbers = {"worse": f"{worse:.4g}", "better": f"{better:.4g}"}
            texts = {
                "worse_text": items[sides[0]].text[:400],
                "better_text": items[sides[1]].text[:400],
            }
            lines.append(words[key].format(**numbers, **texts))
    return "\n".join(lines) or str(words["nothing"])
