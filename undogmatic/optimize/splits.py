"""Splits texts into train, validation and test, with nothing on two sides, and counts the looks at
test texts.

Whole groups of texts lie on one side each. Each program that is judged on test texts because others
were tried before it is a further chance to be lucky: it is noted beside the runs, and the verdict's
level falls from look to look.
"""

import contextlib
import json
import math
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from undogmatic.config.build import Settings, build
from undogmatic.config.groups import named, plain
from undogmatic.datasets.labels import on_scale
from undogmatic.datasets.tabular import labelled_items
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.independence import Group, groups
from undogmatic.optimize.metrics import BLOCK, METRICS, Metric, Terms, metric, units
from undogmatic.optimize.optimizers import Optimizer
from undogmatic.records.records import Item, digest, items_digest, text_mark
from undogmatic.records.rubric import Rubric
from undogmatic.safety import files
from undogmatic.safety.files import Log
from undogmatic.safety.outside import Unreadable, brief, json_value, read_lines
from undogmatic.stats.claims import fewest_pairs

FEWEST = 4  # examples on the side of the training and of the validation texts
TIES = {"copies": "copies or near-copies, perhaps by way of other texts"}
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
    rng, split, test = (
        np.random.default_rng(chosen.seed),
        chosen.dataset.get("split"),
        list(items),
    )
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


def paired_settings(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of a run's paired experiment: of several analyses, and of the suite, one level
    down."""
    paired = config.get("analysis")
    for outer in ("suite", "ab"):
        inner = paired.get(outer) if isinstance(paired, Mapping) else None
        paired = inner if isinstance(inner, Mapping) else paired
    return paired if isinstance(paired, Mapping) else {}


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


def deal(
    items: Sequence[Item], shares: Mapping[str, float], rng: np.random.Generator
) -> dict[str, list[Item]]:
    """Deal items to sides by their groups (`examinations.independence`), alike in every stratum.

    A stratum is the conditions in a group and the third of the labels in which its mean lies.
    Groups go, in an order that is random within each stratum, to the side that lacks most of its
    share.

    Args:
        shares: Of the items, by side; they sum to 1.
    Returns:
        The items of every side, in their order in `items`.
    """
    side_of: dict[str, str] = {}
    counts = dict.fromkeys(shares, 0.0)
    for group in _ordered(items, rng):
        total = sum(counts.values()) + len(group.ids)
        side = max(shares, key=lambda name: shares[name] * total - counts[name])
        counts[side] += len(group.ids)
        side_of |= dict.fromkeys(group.ids, side)
    return {
        name: [item for item in items if side_of[item.id] == name] for name in shares
    }


def some(items: Sequence[Item], most: int, rng: np.random.Generator) -> list[Item]:
    """At most about so many items: whole groups, spread evenly over the strata."""
    ordered = _ordered(items, rng)
    if len(items) <= most:
        return list(items)
    wanted = max(1, round(len(ordered) * most / len(items)))
    places = np.linspace(0, len(ordered) - 1, wanted).round().astype(int)
    kept = {id_ for place in places for id_ in ordered[place].ids}
    return [item for item in items if item.id in kept]


def blocks(
    items: Sequence[Item], size: int, rng: np.random.Generator
) -> list[list[Item]]:
    """Items dealt into blocks of `size` or a few more, each with some of every stratum."""
    ordered = [id_ for group in _ordered(items, rng) for id_ in group.ids]
    count = max(1, len(ordered) // size)
    by_id = {item.id: item for item in items}
    return [[by_id[id_] for id_ in ordered[start::count]] for start in range(count)]


def apart(items: Sequence[Item], kept: Sequence[Item]) -> list[Item]:
    """Those of the items that belong together with none of `kept`."""
    named, tied = _ties(items, kept)
    taken = {id_ for group in tied for id_ in group.ids}
    return [item for item, name in zip(items, named, strict=True) if name not in taken]


def check_leaks(
    development: Sequence[Item], test: Sequence[Item], way: str = ""
) -> None:
    """Raise DataError where texts that are tested belong together with texts that were seen before:
    the same pair, precedent or source, a copy, or a near-copy. `way` is a further one out of it."""
    named, leaks = _ties(development, test)
    if leaks:
        one = next(id_ for id_ in leaks[0].ids if id_ not in named)
        other = next(
            item.id
            for item, name in zip(development, named, strict=True)
            if name in leaks[0].ids
        )
        ties = ", ".join(TIES.get(tie, tie) for tie in leaks[0].ties)
        said = (
            f"{len(leaks)} {'groups of texts lie' if len(leaks) > 1 else 'group of texts lies'} on"
            " both sides of the split, so the test would be of what was seen before: test text"
            f" {brief(one)} and development text {brief(other)} ({ties}). Take these out of one"
            f" side. {way}"
        )
        raise DataError(said.strip())


def _ties(
    items: Sequence[Item], others: Sequence[Item]
) -> tuple[dict[str, Item], list[Group]]:
    """The items by names that no other item has (two files may number alike, and then an id says
    nothing of a text), and the groups that hold some of both."""
    other_ids, named = {item.id for item in others}, dict[str, Item]()
    for n, item in enumerate(items):
        name = item.id
        while name in other_ids or name in named:
            name = f"{n}, {name}"
        named[name] = item if name == item.id else item.model_copy(update={"id": name})
    together = groups([*named.values(), *others])
    return named, [
        group
        for group in together
        if other_ids & {*group.ids} and named.keys() & {*group.ids}
    ]


def _ordered(items: Sequence[Item], rng: np.random.Generator) -> list[Group]:
    """The groups, stratum by stratum, in random order within each."""
    by_id = {item.id: item for item in items}
    labels = [item.label for item in items if item.label is not None]
    thirds = np.quantile(labels, [1 / 3, 2 / 3]) if labels else np.zeros(0)
    strata: dict[str, list[Group]] = defaultdict(list)
    for group in groups(list(items)):
        members = [by_id[id_] for id_ in group.ids]
        known = [item.label for item in members if item.label is not None]
        third = int(np.searchsorted(thirds, np.mean(known))) if known else -1
        strata[
            json.dumps([sorted({str(item.condition) for item in members}), third])
        ].append(group)
    return [
        alike[place]
        for _, alike in sorted(strata.items())
        for place in rng.permutation(len(alike))
    ]


def looked(
    folder: Path, test: Sequence[Item], construct: str, claim: Sequence[Any] | None
) -> int:
    """Note a look at test texts and give its number among all that share a text with it, from 1.

    A look at some of the texts of an earlier one is a further look, as leaving texts out is one
    more way to be lucky. Nothing but the same claim on the same texts is the same look, however
    often it is made. Looks are noted in the folder `outputs` that the run lies in, else in the one
    above it.

    Args:
        construct: What is judged (rubric and criterion); another construct's looks are not counted.
        claim: What else the result hangs on: programs, metric. None where there is nothing to be
            lucky with: nothing is noted then, and the looks so far are counted.
    Raises:
        DataError, StorageError: The file cannot be read or written.
    """
    above = folder.resolve().parents
    path = (
        next((parent for parent in above if parent.name == "outputs"), above[0])
        / "looks.jsonl"
    )
    texts = {text_mark(digest(item.inputs)) for item in test}
    if claim is None:
        return len(_looks(path, construct, texts))
    look = text_mark(digest([construct, sorted(texts), list(claim)]))
    if look not in _looks(path, construct, texts):
        note = {
            "look": look,
            "construct": construct,
            "texts": sorted(texts),
            "run": str(folder),
        }
        with Log(path, files.ALL) as log:
            log.add(json.dumps(note | {"at": time.strftime("%Y-%m-%dT%H:%M:%S")}))
    # read again: other runs may note theirs
    return list(_looks(path, construct, texts)).index(look) + 1


def _looks(path: Path, construct: str, texts: Collection[str]) -> dict[str, None]:
    """The looks that share a text with these, in their order."""
    seen: dict[str, None] = {}
    for number, line in read_lines(path) if path.is_file() else ():
        try:
            look = json_value(line)
            if look["construct"] == construct and not set(texts).isdisjoint(
                look["texts"]
            ):
                seen[str(look["look"])] = None
        except (Unreadable, KeyError, TypeError) as error:
            raise DataError(
                f"{path}:{number}: no look at test texts ({error}). Delete the line; do not delete"
                " the file: it says how often test texts were looked at."
            ) from None
    return seen
