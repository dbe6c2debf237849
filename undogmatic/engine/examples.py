"""Takes labelled rows of the run's own data as worked examples of its prompt (`prompt.examples`),
and out of what is judged: a figure that rested on rows which the model was shown with their labels
would say nothing.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from undogmatic.config.build import Settings, build
from undogmatic.errors import ConfigError, DataError
from undogmatic.readouts.prompt import Demonstration, Prompt
from undogmatic.records.records import Item
from undogmatic.records.rubric import Rubric

REASONS = ("rationale", "reason", "motivo", "justificativa")
"""Columns of a row that say why it has its label."""


class Taken(NamedTuple):
    """The prompt with its examples, and the ids of the rows that are not judged: those and what
    belongs to them."""

    prompt: Prompt
    ids: frozenset[str] = frozenset()


def taken(prompt: Prompt, rubric: Rubric, chosen: Settings) -> Taken:
    """Fill the prompt with `prompt.examples` rows of the run's dataset; without that key it stays
    as it is. With `prompt.examples_from` they are of another file or split, as of that on which a
    search chose. The same rows give the same examples, wherever they stand in the file. Raises
    ConfigError and DataError with the way out.
    """
    fits = prompt.language in rubric.wordings and prompt.rubric in (None, rubric.name)
    if prompt.examples is None or not fits:  # `Prompt.check` says what does not fit
        return Taken(prompt)
    # Two sets of examples, and nobody could say by which the judge learned.
    if prompt.demonstrations or prompt.brings_program:
        what = (
            f"`prompt.examples` is {prompt.examples}, and prompt={prompt.id} brings examples of"
            " its own"
        )
        raise ConfigError(
            f"{what}. Leave one of them out, e.g. ++prompt.examples=null."
        )
    from undogmatic.datasets.belonging import groups_of
    from undogmatic.datasets.labels import on_scale

    dataset = build({**chosen.dataset, **prompt.examples_from}, "dataset")
    items = on_scale(dataset.load(), rubric)
    fit = [
        item
        for item in items
        if item.label is not None and set(rubric.inputs) <= item.inputs.keys()
    ]
    # By groups, and not by items: a judge that was shown a copy of a text knows its
    # label.
    group = groups_of(items)
    apart = len({group[item.id] for item in fit})
    way = "or ask an instruction model, which needs no examples: model=qwen ++prompt.examples=null"
    # Whatever is shown is taken out of what is judged. With fewer, hardly anything
    # would be left.
    if apart < 2 * prompt.examples:
        what = (
            f"`prompt.examples` is {prompt.examples}, and {dataset.about} has labels for {apart}"
            " texts that are"
        )
        why = "independent of one another; as many as are shown must be left to judge"
        more = (
            "Name a file with more labels (dataset=my dataset.path=FILE; undogmatic label FILE"
            " makes them)"
        )
        fewer = f"Take fewer (++prompt.examples={apart // 2})" if apart >= 4 else more
        raise DataError(f"{what} {why}. {fewer}, {way}.")
    shown = _spread(fit, group, rubric, prompt.examples)
    # Examples of one label teach a model to say that label.
    if len({item.label for item in shown}) < 2:
        raise DataError(
            f"all labels of {dataset.about} are equal, so examples cannot show the scale. Label"
            f" more, {way}."
        )
    demonstrations = tuple(
        _demonstration(item, rubric, prompt.language) for item in shown
    )
    # other data are judged
    used = set() if prompt.examples_from else {group[item.id] for item in shown}
    ids = frozenset(item.id for item in items if group[item.id] in used)
    return Taken(prompt.model_copy(update={"demonstrations": demonstrations}), ids)


def _spread(
    items: Sequence[Item], group: Mapping[str, str], rubric: Rubric, count: int
) -> list[Item]:
    """So many items, each of another group, whose labels are spread over the rubric's levels; in an
    order that does not follow their labels."""
    marks = {
        item.id: hashlib.sha256(item.text.encode("utf-8", "replace")).hexdigest()
        for item in items
    }
    levels, chosen = rubric.levels, list[Item]()
    for n in range(count):
        level = levels[round(n * (len(levels) - 1) / max(1, count - 1))]
        used = {group[item.id] for item in chosen}
        left = [item for item in items if group[item.id] not in used]
        chosen.append(
            min(
                left,
                key=lambda item: (abs((item.label or 0.0) - level), marks[item.id]),
            )
        )
    return sorted(chosen, key=lambda item: marks[item.id])


def _demonstration(item: Item, rubric: Rubric, language: str) -> Demonstration:
    """An item with its label as the answer; the reason is the row's own, else what the nearest
    level means."""
    label = float(item.label or 0.0)
    value = (
        label
        if rubric.scale.contains(label)
        else min(rubric.levels, key=lambda level: abs(level - label))
    )
    nearest = min(
        range(len(rubric.levels)), key=lambda n: abs(rubric.levels[n] - label)
    )
    own = next(
        (
            text
            for key in REASONS
            if isinstance(text := item.metadata.get(key), str) and text.strip()
        ),
        None,
    )
    inputs = {name: item.inputs[name] for name in rubric.inputs}
    return Demonstration(
        inputs=inputs, score=value, rationale=own or rubric.meanings(language)[nearest]
    )
