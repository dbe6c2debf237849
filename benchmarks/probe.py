"""How well the probe judges texts of authors it has not seen, beside the baselines `tfidf` and `patterns`.

    python -m benchmarks.probe            development texts, one author left out at a time
    python -m benchmarks.probe --test     the shipped probe on the test texts (other authors and precedents)

Pairs and AUC compare naked texts with explained ones; an attack's AUC compares its texts (labels of 60 and more) with
the explained ones. Spearman and the mean absolute error are over the texts with a label of their own, so without the
pairs, whose labels are class centres. Intervals are those of the analyses, of level 95 %, over what
belongs together among the texts of a row: pair, precedent, copies.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from undogmatic.config.build import build, settings
from undogmatic.config.door import compose_config
from undogmatic.constructs.shame.curated import (
    PAIR_GOLD,
    CuratedDataset,
    DevelopmentDataset,
)
from undogmatic.constructs.shame.patterns import count, fitted, share, tfidf_ridge
from undogmatic.datasets.belonging import groups_of
from undogmatic.fit.probe import (
    calibrate,
    fold_codes,
    held_out,
    held_out_raw,
    read_all,
    read_and_sift,
)
from undogmatic.models.base import Model
from undogmatic.readouts.probe import (
    fitting_probe,
    shipped_probe,
    text_features,
)
from undogmatic.records.folding import Folding, plain
from undogmatic.records.records import Item
from undogmatic.records.rubric import Rubric
from undogmatic.stats import means
from undogmatic.stats.calibration import error_interval
from undogmatic.stats.paired import share_in_direction
from undogmatic.stats.proportion import proportion
from undogmatic.stats.ranking import auc, mean_absolute_error, spearman_interval
from undogmatic.stats.uncertainty import discretised_normal

SEED = 0
TOLERANCE = 12.5
"""Score units within which a score counts as right: half a step between the rubric's levels."""
NAKED = ("authority_only", "gold:naked")
EXPLAINED = ("explained_only", "gold:explained")
HYBRID = ("explained_cited", "gold:cited")
GROUPS: dict[str, Sequence[str]] = {
    "naked": NAKED,
    "explained": EXPLAINED,
    "hybrid": HYBRID,
    "neutral": ("neutral", "gold:neutral"),
    "humble": ("humble",),
    "hubristic": ("hubristic",),
}


class Scored(NamedTuple):
    """One judge's scores of all items, shape (n,), and its intervals if it gives any."""

    name: str
    scores: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    confidence: np.ndarray | None = None


def development() -> tuple[list[Item], list[Scored]]:
    """Scores of every development text by fits without its author."""
    items = DevelopmentDataset().load()
    labels = np.array([item.label for item in items], dtype=np.float64)
    folds, how, authors = fold_codes(items)
    print(f"development: {len(items)} texts, {how} ({', '.join(authors)})")
    rubric, model, engine = opened()
    ends, texts = (rubric.minimum, rubric.maximum), [item.text for item in items]
    copies, folding = DevelopmentDataset().copies(items), Folding.learnt(texts)
    _, of_texts, of_copies = read_and_sift(model, texts, copies, folds, engine, folding)
    raw = held_out_raw(of_texts, labels, folds, copies=of_copies)
    scores, limits = held_out(raw, labels, folds, ends)
    mapped = [
        held_out(raw, labels, folds, ends)[0]
        for raw in (lexical(list(map(plain, texts)), labels, folds), _patterns(items))
    ]
    return items, [
        Scored("probe", scores, *limits),
        *map(Scored, ("tfidf", "patterns"), mapped),
    ]


def test() -> tuple[list[Item], list[Scored]]:
    """Scores of every test text by what ships."""
    items = [
        item
        if item.label is not None
        else item.with_label(PAIR_GOLD[str(item.condition)])
        for item in CuratedDataset(
            parts=["labelled", "adversarial", "controls", "theses", "pairs"],
            split="test",
        ).load()
    ]
    rubric, model, engine = opened()
    probe = fitting_probe(shipped_probe(rubric), model, rubric)
    texts = [item.text for item in items]
    features = np.stack(
        asyncio.run(
            read_all(
                model, texts, engine, lambda text: text_features(probe, model, text)
            )
        )
    )
    print(
        f"test: {len(items)} texts; the shipped probe was fitted on {probe.about.n} texts"
        f" ({probe.about.labels[:12]})"
    )
    found = [probe.estimate(row, rubric.minimum, rubric.maximum) for row in features]
    sure = [discretised_normal(one.score, one.sd, rubric.levels) for one in found]
    confidence = np.array(
        [1 + (p[p > 0] * np.log(p[p > 0])).sum() / np.log(p.size) for p in sure]
    )
    counted = 100 * np.array(fitted(1.0).predict([item.text for item in items]))
    known = DevelopmentDataset().load()
    labels = np.array([item.label for item in known], dtype=np.float64)
    # The probe's scores were mapped to the labels' quantiles with held-out development texts; so
    # are the others'.
    maps = [
        calibrate(raw, labels)
        for raw in (
            lexical([plain(i.text) for i in known], labels, fold_codes(known)[0]),
            _patterns(known),
        )
    ]
    mapped = [
        np.interp(raw, m.raw_knots, m.score_knots)
        for raw, m in zip((counted, _patterns(items)), maps, strict=True)
    ]
    probed = Scored(
        "probe", *np.array([(one.score, *one.interval) for one in found]).T, confidence
    )
    return items, [probed, *map(Scored, ("tfidf", "patterns"), mapped)]


def lexical(texts: Sequence[str], labels: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """What TF-IDF with ridge says of each text, fitted on the texts of the other folds."""
    found = np.empty(len(texts))
    for fold in np.unique(folds):
        inside = folds == fold
        pipeline = tfidf_ridge(1.0).fit(
            [text for k, text in enumerate(texts) if not inside[k]], labels[~inside]
        )
        found[inside] = pipeline.predict(
            [text for k, text in enumerate(texts) if inside[k]]
        )
    return found


def opened() -> tuple[Rubric, Model, Any]:
    """The rubric, the embedded model and the engine, as the command composes them."""
    chosen = settings(compose_config(["model=local"]))
    return (
        build(chosen.rubric, "rubric"),
        build(chosen.model, "model"),
        build(chosen.engine, "engine"),
    )


def _patterns(items: Sequence[Item]) -> np.ndarray:
    return np.array([100 * share(count(item.text)) for item in items])


class Units:
    """What belongs together (pair, precedent, copy) among some of the items, as an analysis of
    these alone has it."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self._known: dict[tuple[int, ...], list[str]] = {}

    def of(self, *sides: np.ndarray) -> list[list[str]]:
        """Names of the units of each side, given as masks, shape (n_items,)."""
        places = [np.flatnonzero(side).tolist() for side in sides]
        chosen = tuple(place for side in places for place in side)
        if chosen not in self._known:
            known = groups_of([self.items[place] for place in chosen])
            self._known[chosen] = [known[self.items[place].id] for place in chosen]
        names = iter(self._known[chosen])
        return [list(islice(names, len(side))) for side in places]


def rows(items: Sequence[Item], judge: Scored, units: Units) -> dict[str, str]:
    """Figure -> "value [low, high]"."""
    scores, labels = (
        judge.scores,
        np.array([item.label for item in items], dtype=np.float64),
    )
    condition = np.array([str(item.condition) for item in items])
    pair = np.array([str(item.pair) for item in items])
    own = np.array([item.metadata["part"] not in ("pairs", "theses") for item in items])
    naked, explained, hybrid = (
        np.isin(condition, names) for names in (NAKED, EXPLAINED, HYBRID)
    )
    (together,) = units.of(own)

    def rng() -> np.random.Generator:
        return np.random.default_rng(SEED)

    def area(high: np.ndarray, low: np.ndarray) -> str:
        groups_a, groups_b = units.of(high, low)
        found = auc(scores[high], scores[low], groups_a=groups_a, groups_b=groups_b)
        return shown(found.value, found.low, found.high, 3)

    found: dict[str, str] = {}
    for high, low in (
        ("imitation", "explanation"),
        ("authority_only", "explained_only"),
    ):
        sides = [np.flatnonzero(condition == name) for name in (high, low)]
        first, second = (side[np.argsort(pair[side])] for side in sides)
        groups = dict(
            zip(
                np.flatnonzero(condition == high),
                units.of(condition == high, condition == low)[0],
                strict=True,
            )
        )
        own_groups, differences = (
            [groups[place] for place in first],
            scores[first] - scores[second],
        )
        direction = share_in_direction(differences, groups=own_groups)
        mean = means.interval(differences, groups=own_groups, bounds=(-100, 100))
        named = f"{high.replace('_', ' ')} above {low.replace('_', ' ')} (pairs n={len(first)})"
        found[named] = shown(
            direction.estimate.value, direction.estimate.low, direction.estimate.high, 3
        )
        found[f"mean difference of these, {high.replace('_', ' ')}"] = shown(
            mean.value, mean.low, mean.high, 1
        )
    rank = spearman_interval(scores[own], labels[own], rng(), groups=together)
    error = mean_absolute_error(labels[own], scores[own], groups=together, span=100)
    found |= {
        "AUC naked against explained": area(naked, explained),
        "AUC naked against hybrid": area(naked, hybrid),
        f"Spearman with the label (n={own.sum()})": shown(
            rank.value, rank.low, rank.high, 3
        ),
        "mean absolute error": shown(error.value, error.low, error.high, 1),
    }
    if judge.low is not None and judge.high is not None:
        covered = proportion(
            ((judge.low <= labels) & (labels <= judge.high))[own], groups=together
        )
        found["coverage of the 90 % interval"] = shown(
            covered.value, covered.low, covered.high, 3
        )
        width = means.interval(
            (judge.high - judge.low)[own], groups=together, bounds=(0, 100)
        )
        found["mean width of the 90 % interval"] = shown(
            width.value, width.low, width.high, 1
        )
    if judge.confidence is not None:
        right = (np.abs(scores - labels) <= TOLERANCE)[own].astype(float)
        gap = error_interval(judge.confidence[own], right, rng(), groups=together)
        found["calibration error (ECE) of the confidence"] = shown(
            gap.estimate.value, gap.estimate.low, gap.estimate.high, 3
        )
    attack = np.array([_attack(item) for item in items])
    for name in sorted(set(attack) - {""}):
        chosen = (attack == name) & (labels >= 60)
        if chosen.sum() >= 2:
            found[f"AUC attack {name} (n={chosen.sum()})"] = area(chosen, explained)
    for name, conditions in GROUPS.items():
        chosen = np.isin(condition, conditions)
        (members,) = units.of(chosen)
        if len(set(members)) >= 2:
            mean = means.interval(scores[chosen], groups=members, bounds=(0, 100))
            found[f"mean score, {name} (n={chosen.sum()})"] = shown(
                mean.value, mean.low, mean.high, 1
            )
    return found


def _attack(item: Item) -> str:
    condition = str(item.condition)
    return (
        condition.removeprefix("attack:")
        if condition.startswith("attack:")
        else str(item.metadata.get("attack") or "")
    )


def shown(value: float, low: float, high: float, digits: int) -> str:
    """An estimate with its interval."""
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--test",
        action="store_true",
        help="the test texts instead of the development texts",
    )
    source: Callable[[], tuple[list[Item], list[Scored]]] = (
        test if parser.parse_args().test else development
    )
    items, judges = source()
    units = Units(items)
    columns = {judge.name: rows(items, judge, units) for judge in judges}
    print(f"\n| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for figure in columns["probe"]:
        print(
            f"| {figure} | {' | '.join(column.get(figure, '') for column in columns.values())} |"
        )


if __name__ == "__main__":
    main()
