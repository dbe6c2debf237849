"""Divides the texts into those that an optimisation trains on, chooses by and is judged on."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from undogmatic.config.build import Settings, build
from undogmatic.config.groups import named, plain
from undogmatic.datasets.base import on_scale
from undogmatic.datasets.labels import labelled_items
from undogmatic.errors import ConfigError, DataError
from undogmatic.optimize.metrics import BLOCK, METRICS, Metric, Terms, metric, whole_pairs
from undogmatic.optimize.optimizers import Optimizer
from undogmatic.optimize.splits import Splits, apart, blocks, check_leaks, deal, some
from undogmatic.records.records import Item
from undogmatic.records.rubric import Rubric
from undogmatic.stats.claims import fewest_pairs

FEWEST = 4
"""Examples on the side of the training and of the validation texts."""
SHARES = {"train": 0.6, "validation": 0.4}
"""Of development texts that serve both."""
OWN_SPLIT, HELD_OUT = "development", "test"


class Data(NamedTuple):
    """The sides, the metric that training examples and all others are measured by, and the examples themselves."""

    splits: Splits
    on_train: Metric
    metric: Metric
    train: list[list[Item]]
    validation: list[list[Item]]


def gather(optimizer: Optimizer, chosen: Settings, terms: Terms, items: Sequence[Item]) -> Data:
    """The run's items as the test side, and what there is to optimise on; see `Optimizer`.

    Raises:
        ConfigError, DataError: Too few examples on a side, nothing to measure by, leakage, or the run's dataset is the
            development split itself.
    """
    rng = np.random.default_rng(chosen.seed)
    development = _development(optimizer, chosen, terms.rubric)
    if development is None:
        dealt = deal(items, _shares(optimizer), rng)
        test, pool = dealt["test"], dealt["development"]
    else:
        test, pool = list(items), development
    found = metric(optimizer.metric, test, terms)
    shown = _examples(optimizer, chosen, terms, pool)
    own = {item.id: item.inputs for item in pool}
    # Another text may have an id of the pool's.
    labels = {item.id: item for item in shown if own.get(item.id) == item.inputs}
    check_leaks([*pool, *(item for item in shown if item.id not in labels)], test)
    on_train = METRICS["error"] if shown else found
    most = (2 if found.of == "pair" else 1) * optimizer.validation
    if len(labels) < len(shown):
        validation = some(_measurable(pool, found, terms), most, rng)
        train = apart(shown, validation)
    else:
        sides = deal(pool, SHARES, rng)
        validation = some(_measurable(sides["validation"], found, terms), most, rng)
        train = [labels.get(item.id, item) for item in sides["train"] if item.id in labels or not shown]
        train = _measurable(train, on_train, terms)
    train = some(train, (2 if on_train.of == "pair" else 1) * optimizer.train, rng)
    data = Data(
        Splits(train, validation, test),
        on_train,
        found,
        examples_of(train, on_train, terms, rng),
        examples_of(validation, found, terms, rng),
    )
    _check_sizes(data, terms, optimizer)
    return data


def examples_of(items: Sequence[Item], by: Metric, terms: Terms, rng: np.random.Generator) -> list[list[Item]]:
    """The items as a metric takes them: single texts, whole pairs or blocks; in a random order."""
    if by.of == "pair":
        found = whole_pairs(items, terms)
    elif by.of == "block":
        found = blocks(items, BLOCK, rng)
    else:
        found = [[item] for item in items]
    return [found[place] for place in rng.permutation(len(found))]


def _measurable(items: Sequence[Item], by: Metric, terms: Terms) -> list[Item]:
    if by.of == "pair":
        return [item for pair in whole_pairs(items, terms) for item in pair]
    return [item for item in items if _labelled(item, terms)]


def _labelled(item: Item, terms: Terms) -> bool:
    return item.labelled(terms.criterion) is not None


def _shares(optimizer: Optimizer) -> dict[str, float]:
    return {"development": 1 - optimizer.test_share, "test": optimizer.test_share}


def _development(optimizer: Optimizer, chosen: Settings, rubric: Rubric) -> list[Item] | None:
    """The texts to optimise on, or None where the run's own are to be split."""
    own = chosen.dataset.get("split")
    if optimizer.development is None and own is not None and own != HELD_OUT:
        raise ConfigError(
            f"`dataset.split` is {own!r}: these texts are there to optimise on, and the verdict needs others. Leave it "
            "at dataset.split=test; the development texts are found by themselves."
        )
    if optimizer.development is not None:
        return _load(optimizer.development, "optimizer.development", chosen, rubric)
    if own is None:
        return None
    return on_scale(build({**chosen.dataset, "split": OWN_SPLIT}, "dataset").load(), rubric)


def _examples(optimizer: Optimizer, chosen: Settings, terms: Terms, pool: Sequence[Item]) -> list[Item]:
    """The labelled texts that are trained on and shown; none where there are none."""
    found: Sequence[Item] = pool
    if isinstance(optimizer.examples, Mapping) and "prompt" in optimizer.examples:
        found = _demonstrations(str(optimizer.examples["prompt"]), chosen, terms)
    elif optimizer.examples is not None:
        found = _load(optimizer.examples, "optimizer.examples", chosen, terms.rubric)
    elif chosen.dataset.get("split") is not None and not any(_labelled(item, terms) for item in pool):
        with contextlib.suppress(ConfigError):  # none ship for this rubric
            shipped = on_scale(labelled_items(None, terms.rubric), terms.rubric)
            own = {item.id for item in pool}
            found = [item for item in shipped if item.id in own] or shipped  # texts of the run's kind, where they are
    found = [item for item in found if _labelled(item, terms)]
    if optimizer.longest is None:
        return found
    short = [item for item in found if sum(map(len, map(str, item.inputs.values()))) <= optimizer.longest]
    if found and len(short) < FEWEST:
        raise ConfigError(
            f"`optimizer.longest` is {optimizer.longest}, and {len(short)} of {len(found)} labelled texts are as short "
            f"as that; {FEWEST} are the fewest. Give a larger number, or null for texts of any length."
        )
    return short


def _demonstrations(name: str, chosen: Settings, terms: Terms) -> list[Item]:
    """The worked examples of a prompt as labelled texts."""
    prompt = build(named("prompt", name, "optimizer.examples.prompt", chosen), "optimizer.examples.prompt")
    prompt.check(terms.rubric)
    if terms.rubric.name != prompt.rubric or len(prompt.shown()) < FEWEST:
        raise ConfigError(
            f"`optimizer.examples.prompt` is {name!r}, which has {len(prompt.shown())} examples for rubric="
            f"{prompt.rubric or 'any'}; {FEWEST} for rubric={terms.rubric.name} are the fewest."
        )
    return [
        Item(id=f"{name}-{n}", inputs=demo.inputs, metadata={"reason": demo.rationale}).with_label(
            terms.rubric.scale.read(demo.score)
        )
        for n, demo in enumerate(prompt.shown())
    ]


def _load(node: str | Mapping[str, Any], key: str, chosen: Settings, rubric: Rubric) -> list[Item]:
    found = named("dataset", node, key, chosen) if isinstance(node, str) else dict(node)
    if "dataset" in found:
        found = named("dataset", str(found.pop("dataset")), key, chosen) | found
    if found.get("split") == HELD_OUT:
        found["split"] = OWN_SPLIT
    return on_scale(build(found, f"{key}.dataset").load(), rubric)


def _check_sizes(data: Data, terms: Terms, optimizer: Optimizer) -> None:
    from undogmatic.analyses.independence import groups

    for side, n in (("train", len(data.train)), ("validation", len(data.validation))):
        if n < FEWEST:
            raise DataError(
                f"{n} {'example is' if n == 1 else 'examples are'} left to {'train' if side == 'train' else 'choose'} "
                f"by (metric {data.metric.name}); {FEWEST} are the fewest. Give more texts: optimizer.development=..., "
                "optimizer.examples=..., or a larger optimizer."
                f"{side}."
            )
    judged = _measurable(data.splits.test, data.metric, terms)
    n, least = len(groups(judged)), fewest_pairs(optimizer.alpha)
    if n < least:
        raise DataError(
            f"the test split has {n} independent groups of texts for the metric {data.metric.name}; with fewer than "
            f"{least} no verdict at optimizer.alpha={optimizer.alpha:g} is possible. Give more texts, or a larger "
            "optimizer.test_share."
        )


def contrast(optimizer: Optimizer, config: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The conditions of the worse and the better side of a pair: the optimizer's own, those of the run's paired
    experiment, or those of conf/analysis/ab.yaml. Raises ConfigError for lists of different lengths."""
    paired: Mapping[str, Any] = config.get("analysis", {})
    for outer in ("suite", "ab"):
        inner = paired.get(outer)
        paired = inner if isinstance(inner, Mapping) else paired
    if "treatment" not in paired or "baseline" not in paired:
        paired = plain("analysis", "ab", "analysis")
    sides = (optimizer.worse or paired["treatment"], optimizer.better or paired["baseline"])
    worse, better = (tuple([each] if isinstance(each, str) else each) for each in sides)
    if len(worse) != len(better):
        raise ConfigError(
            f"`optimizer.worse` has {len(worse)} names and `optimizer.better` {len(better)}; names in the same place "
            "belong together."
        )
    return worse, better
