"""Gathers what an optimiser learns from and what it is tested on: train, validation and test, with
nothing on two sides (`datasets.sides`)."""

import contextlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from undogmatic.config.build import Settings, build, paired_settings
from undogmatic.config.groups import named, plain
from undogmatic.datasets.belonging import groups
from undogmatic.datasets.labels import on_scale
from undogmatic.datasets.sides import apart, blocks, check_leaks, deal, some
from undogmatic.datasets.tabular import labelled_items
from undogmatic.errors import ConfigError, DataError
from undogmatic.optimize.metrics import BLOCK, METRICS, Metric, Terms, metric, units
from undogmatic.optimize.optimizers import Optimizer
from undogmatic.records.records import Item, items_digest
from undogmatic.records.rubric import Rubric
from undogmatic.stats.claims import fewest_pairs

FEWEST = 4  # examples on the side of the training and of the validation texts
DEALT = {"train": 0.6, "validation": 0.4}  # of the development texts
OWN_SPLIT, HELD_OUT = "development", "test"


class Splits(NamedTuple):
    """Items by side. Optimisers see `train` and `validation`; `test` is judged once they are
    done."""

    train: list[Item]
    validation: list[Item]
    test: list[Item]

    def form(self, seed: int) -> str:
        """What is written to the run's folder: ids and a digest of every side, and the seed that
        dealt them."""
        sides = {
            name: {
                "n": len(items),
                "digest": items_digest(items),
                "ids": [item.id for item in items],
            }
            for name, items in self._asdict().items()
        }
        return json.dumps({"seed": seed, **sides}, indent=1, ensure_ascii=False) + "\n"


class Data(NamedTuple):
    """The sides, the metric that training examples and all others are measured by, and the examples
    themselves."""

    splits: Splits
    on_train: Metric
    metric: Metric
    train: list[list[Item]]
    validation: list[list[Item]]


def gather(
    optimizer: Optimizer, chosen: Settings, terms: Terms, items: Sequence[Item]
) -> Data:
    """The run's items as the test side, and what there is to optimise on; see `Optimizer`.

    Raises:
        ConfigError, DataError: Too few examples on a side, nothing to measure by, leakage, or the
            run's dataset is the development split itself.
    """
    rng = np.random.default_rng(chosen.seed)
    split = chosen.dataset.get("split")
    test = list(items)
    if optimizer.development is not None:
        development = _load(
            optimizer.development, "optimizer.development", chosen, terms.rubric
        )
    elif split is None:
        sides = deal(
            items,
            {"development": 1 - optimizer.test_share, "test": optimizer.test_share},
            rng,
        )
        test, development = sides["test"], sides["development"]
    elif split == HELD_OUT:
        development = list(
            on_scale(
                build({**chosen.dataset, "split": OWN_SPLIT}, "dataset").load(),
                terms.rubric,
            )
        )
    else:
        raise ConfigError(
            f"`dataset.split` is {split!r}: these texts are there to optimise on, and the verdict"
            " needs others. Leave it at dataset.split=test; the development texts are found by"
            " themselves."
        )
    measure = metric(optimizer.metric, test, terms)
    shown = _examples(optimizer, chosen, terms, development)
    inputs = {item.id: item.inputs for item in development}
    # Another text may have an id of a development text.
    labels = {item.id: item for item in shown if inputs.get(item.id) == item.inputs}
    seen = [*development, *(item for item in shown if item.id not in labels)]
    check_leaks(
        seen,
        test,
        "An optimisation of one file without a split of its own splits it by groups.",
    )
    on_train = METRICS["error"] if shown else measure

    def part(texts: Sequence[Item], by: Metric, most: int) -> list[Item]:
        """At most so many examples of what the metric can measure."""
        measurable = [item for unit in units(texts, by, terms) for item in unit]
        return some(measurable, (2 if by.of == "pair" else 1) * most, rng)

    # Some of the labelled texts are none of the development texts: then all of these
    # can serve to choose by, and the labelled ones to train on, but for those that
    # stand on both sides.
    if len(labels) < len(shown):
        validation = part(development, measure, optimizer.validation)
        train = apart(shown, validation)
    else:
        sides = deal(development, DEALT, rng)
        validation = part(sides["validation"], measure, optimizer.validation)
        train = [
            labels.get(item.id, item)
            for item in sides["train"]
            if item.id in labels or not shown
        ]
    train, examples = part(train, on_train, optimizer.train), []
    for side, by in ((train, on_train), (validation, measure)):
        dealt = blocks(side, BLOCK, rng) if by.of == "block" else units(side, by, terms)
        examples.append([dealt[place] for place in rng.permutation(len(dealt))])
    data = Data(Splits(train, validation, test), on_train, measure, *examples)
    _check_sizes(
        data,
        terms,
        optimizer,
        len(items) if optimizer.development is None and split is None else 0,
    )
    return data


def _examples(
    optimizer: Optimizer, chosen: Settings, terms: Terms, pool: Sequence[Item]
) -> list[Item]:
    """The labelled texts that are trained on and shown; none where there are none."""
    shown: Sequence[Item] = pool
    if isinstance(optimizer.examples, Mapping) and "prompt" in optimizer.examples:
        shown = _demonstrations(str(optimizer.examples["prompt"]), chosen, terms)
    elif optimizer.examples is not None:
        shown = _load(optimizer.examples, "optimizer.examples", chosen, terms.rubric)
    elif chosen.dataset.get("split") is not None and all(
        item.labelled(terms.criterion) is None for item in pool
    ):
        with contextlib.suppress(ConfigError):  # none ship for this rubric
            shipped = on_scale(labelled_items(None, terms.rubric), terms.rubric)
            ids = {item.id for item in pool}
            shown = [
                item for item in shipped if item.id in ids
            ] or shipped  # texts of the run's kind, where they are
    labelled = [item for item in shown if item.labelled(terms.criterion) is not None]
    if optimizer.longest is None:
        return labelled
    short = [
        item
        for item in labelled
        if sum(map(len, map(str, item.inputs.values()))) <= optimizer.longest
    ]
    if labelled and len(short) < FEWEST:
        raise ConfigError(
            f"`optimizer.longest` is {optimizer.longest}, and {len(short)} of {len(labelled)}"
            f" labelled texts are as short as that; {FEWEST} are the fewest. Give a larger number,"
            " or null for texts of any length."
        )
    return short


def _demonstrations(name: str, chosen: Settings, terms: Terms) -> list[Item]:
    """The worked examples of a prompt as labelled texts."""
    prompt = build(
        named("prompt", name, "optimizer.examples.prompt", chosen),
        "optimizer.examples.prompt",
    )
    prompt.check(terms.rubric)
    if terms.rubric.name != prompt.rubric or len(prompt.shown()) < FEWEST:
        raise ConfigError(
            f"`optimizer.examples.prompt` is {name!r}, which has {len(prompt.shown())} examples for"
            f" rubric={prompt.rubric or 'any'}; {FEWEST} for rubric={terms.rubric.name} are the"
            " fewest."
        )
    return [
        Item(
            id=f"{name}-{n}", inputs=demo.inputs, metadata={"reason": demo.rationale}
        ).with_label(terms.rubric.scale.read(demo.score))
        for n, demo in enumerate(prompt.shown())
    ]


def _load(
    node: str | Mapping[str, Any], key: str, chosen: Settings, rubric: Rubric
) -> Sequence[Item]:
    settings = node_of("dataset", node, key, chosen)
    if settings.get("split") == HELD_OUT:
        settings["split"] = OWN_SPLIT
    return on_scale(build(settings, f"{key}.dataset").load(), rubric)


def node_of(
    group: str, node: str | Mapping[str, Any], key: str, chosen: Settings
) -> dict[str, Any]:
    """The config of a member of a group: by its name, or as a mapping that may name one to start
    from."""
    config = {group: node} if isinstance(node, str) else dict(node)
    return (
        named(group, str(config.pop(group)), key, chosen) | config
        if group in config
        else config
    )


def _check_sizes(data: Data, terms: Terms, optimizer: Optimizer, total: int) -> None:
    """Raise DataError for too few texts on a side; `total` counts those that were split, where all
    are of one file."""
    sides = (
        ("train", data.train, data.on_train),
        ("validation", data.validation, data.metric),
    )
    for side, examples, by in sides:
        if (n := len(examples)) < FEWEST:
            what = "train on" if side == "train" else "choose by"
            lead = (
                f"{n} {'example is' if n == 1 else 'examples are'} left to {what} (metric"
                f" {data.metric.name})"
            )
            ways = [
                "Give more texts",
                "optimizer.development=DATASET",
                "optimizer.examples=DATASET",
            ]
            if getattr(optimizer, side) < FEWEST:
                ways = [f"Give a larger number: optimizer.{side}={FEWEST}"]
            elif total:
                lead += f" of the {total} texts, of which {len(data.splits.test)} are kept to test"
                needed = math.ceil(FEWEST / DEALT[side]) * {
                    "pair": 2,
                    "block": BLOCK,
                }.get(by.of, 1)
                if total - needed >= fewest_pairs(optimizer.alpha):
                    ways.insert(
                        1,
                        "test fewer:"
                        f" optimizer.test_share={math.floor(100 * (1 - needed / total)) / 100:g}",
                    )
            raise DataError(f"{lead}; {FEWEST} are the fewest. {', or '.join(ways)}.")
    judged = [
        item for unit in units(data.splits.test, data.metric, terms) for item in unit
    ]
    n, least = len(groups(judged)), fewest_pairs(optimizer.alpha)
    if n < least:
        raise DataError(
            f"the test split has {n} independent groups of texts for the metric {data.metric.name};"
            f" with fewer than {least} no verdict at optimizer.alpha={optimizer.alpha:g} is"
            " possible. Give more texts, or a larger optimizer.test_share."
        )


def contrast(
    optimizer: Optimizer, config: Mapping[str, Any]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The conditions of the worse and the better side of a pair: the optimizer's own, those of the
    run's paired experiment, or those of conf/analysis/ab.yaml. Raises ConfigError for lists of
    different lengths.
    """
    paired = paired_settings(config)
    if "treatment" not in paired or "baseline" not in paired:
        paired = plain("analysis", "ab", "analysis")
    sides = (
        optimizer.worse or paired["treatment"],
        optimizer.better or paired["baseline"],
    )
    worse, better = (tuple([each] if isinstance(each, str) else each) for each in sides)
    if len(worse) != len(better):
        raise ConfigError(
            f"`optimizer.worse` has {len(worse)} names and `optimizer.better` {len(better)}; names"
            " in the same place belong together."
        )
    return worse, better
