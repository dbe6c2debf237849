"""What is to be done with every item, as plain data that can travel, and built where it is done."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import dspy

from undogmatic.config import groups
from undogmatic.config.build import Settings, build, resolve, settings
from undogmatic.config.groups import named
from undogmatic.engine.composition import Composer, readout_node
from undogmatic.engine.judging import JudgeStep
from undogmatic.engine.step import Step
from undogmatic.errors import ConfigError
from undogmatic.judges.base import Judge
from undogmatic.models.base import Model, Nobody
from undogmatic.readouts.base import Readout
from undogmatic.readouts.chat import LanguageModel
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item, Judgment, Provenance, digest, text_mark
from undogmatic.records.rubric import Rubric


class Parts(NamedTuple):
    """What a recipe composes, built and bound to one another.

    Attributes:
        model: The one to connect and to close; it stands for all that steps and judges ask.
        steps: What makes items from items, in their order; often nothing.
        judges: What judges the items that the last step made; at least one.
        asks: False where the judgments were made elsewhere, and there is nobody to ask.
        uses_own: Whether a step or a judge asks the model that `model=` names.
    """

    rubric: Rubric
    prompt: Prompt
    model: Model
    readout: Readout
    judges: tuple[JudgeStep, ...]
    steps: tuple[Step, ...] = ()
    asks: bool = True
    uses_own: bool = True

    def build(self) -> Parts:
        """What is built is its own recipe."""
        return self

    def asking(self) -> AbstractContextManager[None]:
        """The context in which steps and judges work: the model that is asked where they have none of their own."""
        return dspy.context(lm=LanguageModel(self.model.asked()))  # type: ignore[no-any-return]

    @property
    def judge(self) -> Judge:
        """The first judge; most runs have no other."""
        return self.judges[0].judge

    @property
    def provenance(self) -> Provenance:
        """Where the first judge's judgments come from."""
        return self.judges[0].provenance

    @property
    def readout_name(self) -> str:
        """The readouts of all judges."""
        names = (name for step in self.judges for name in step.provenance.readout.split("+") if name)
        return "+".join(dict.fromkeys(names))

    @property
    def identity(self) -> str:
        """Hash of all that determines the judgments, given the items."""
        hashes = [judge.provenance.config_hash for judge in self.judges]
        return hashes[0] if len(hashes) == 1 else digest(hashes)

    def expected(self) -> list[tuple[str, str]]:
        """Judge and criterion of every judgment that an item shall have."""
        return [(judge.name, criterion) for judge in self.judges for criterion in judge.criteria]

    @property
    def prompted(self) -> bool:
        """Whether the run's prompt, or one of a judge's own, reaches a model."""
        return any(source.uses_prompt for step in self.judges for source in step.judge.readouts())

    def deterministic(self) -> bool:
        """Whether the same question gets the same answer, as far as the readouts go."""
        return all(source.deterministic for step in self.judges for source in step.judge.readouts())

    def fitted(self, items: Sequence[Item]) -> int:
        """How many of the items something in a judge was fitted on."""
        seen = frozenset().union(*(step.judge.fitted_on() for step in self.judges))
        return sum(text_mark(item.text) in seen for item in items)


class Buildable(Protocol):
    """A recipe, or what was built from one."""

    def build(self) -> Parts: ...


class Recipe:
    """A composed config as plain data, from which every process that works on the items builds its own parts.

    Args:
        config: The resolved config.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config
        self._parts: Parts | None = None

    def build(self) -> Parts:
        """Rubric, prompt, model, readout, steps and judges; built once in a process. Raises ConfigError."""
        if self._parts is None:
            self._parts = _compose(settings(self.config))
        return self._parts

    def __reduce__(self) -> tuple[type[Recipe], tuple[Mapping[str, Any]]]:
        return Recipe, (self.config,)


def _compose(chosen: Settings) -> Parts:
    groups.search(chosen.folders)
    rubric: Rubric = build(chosen.rubric, "rubric")
    prompt: Prompt = build(chosen.prompt, "prompt")
    model: Model = build(chosen.model, "model")
    prompted = chosen.optimizes or prompt.brings_program
    readout: Readout = build(readout_node(chosen.readout, model, rubric, chosen, prompted), "readout")
    readout.zero_shot = readout.zero_shot or chosen.optimizes
    composer = Composer(chosen, rubric, prompt, model, readout)
    steps, states = _steps(composer)
    judges = _judge_steps(composer, states)
    asked_model = composer.model()
    if asked_model is None:
        asked_model = Nobody(" + ".join(dict.fromkeys(step.provenance.model for step in judges)))
    return Parts(rubric, prompt, asked_model, readout, tuple(judges), tuple(steps), uses_own=composer.uses_own)


def _judge_steps(composer: Composer, states: Sequence[Any]) -> list[JudgeStep]:
    """The run's judges, each with what determines its judgments."""
    chosen, rubric, prompt = composer.chosen, composer.rubric, composer.prompt
    judges = _judges(composer)
    asked_model = composer.model()
    found = []
    for n, (name, judge) in enumerate(zip(_distinct([judge.name for judge in judges]), judges, strict=True)):
        program = judge.program_hash()
        asked, shown = (asked_model or composer.own).name, prompt
        # Each of several may have a model or prompt of its own, as if it were run alone; and one may ask none at all.
        if chosen.judges is not None or not judge.asks:
            sources = judge.readouts()
            asked = " + ".join(dict.fromkeys(source.model.name for source in sources)) or asked
            shown = sources[0].prompt if len({source.prompt.hash(rubric) for source in sources}) == 1 else shown
        state = {
            "program": program,
            "model": asked,
            "rubric": rubric.model_dump(mode="json", exclude={"margin", "rivals", "optional", "field_words"}),
            "seed": chosen.seed,
        }
        if states:
            state["steps"] = states
        provenance = Provenance(
            model=asked,
            readout="+".join(dict.fromkeys(source.name for source in judge.readouts())),
            prompt=shown.id,
            prompt_hash=shown.hash(rubric),
            program_hash=program,
            config_hash=digest(state | {"prompt": shown.hash(rubric)}),
        )
        found.append(JudgeStep(judge, provenance, name, functools.partial(_in_language, composer, states, n)))
    return found


def _in_language(composer: Composer, states: Sequence[Any], place: int, code: str) -> JudgeStep | None:
    """The judge at this place of the run, asking in another language; None where it has no words in it."""
    prompt = None if composer.chosen.optimizes else composer.prompt.in_language(code)
    if prompt is None or code not in composer.rubric.wordings:
        return None
    try:
        return _judge_steps(composer.with_prompt(prompt), states)[place]
    except ConfigError:  # a style, a readout or a calibration that knows the run's own language only
        return None


def _judges(composer: Composer) -> list[Judge]:
    nodes = composer.chosen.judges
    if nodes is None:
        return [composer.judge()]
    if not nodes:
        raise ConfigError("`judges` is []; name at least one, e.g. judges=[score,debate], or leave it out.")
    return [composer.judge(node, f"judges[{n}]") for n, node in enumerate(nodes)]


def _steps(composer: Composer) -> tuple[list[Step], list[Any]]:
    """The steps that make items, and what determines what they make."""
    steps: list[Step] = []
    states = []
    for n, node in enumerate(composer.chosen.steps):
        key = f"steps[{n}]"
        arguments = dict(node) if isinstance(node, Mapping) else {"step": node}
        if "step" in arguments:
            arguments = named("step", arguments.pop("step"), f"{key}.step", composer.chosen) | arguments
        target = resolve(arguments.get("_target_"), key)
        hints = typing.get_type_hints(target.__init__)
        parameters = inspect.signature(target.__init__).parameters
        asked = [name for name in parameters if hints.get(name) is Model]
        one = {name: composer.model_of(arguments.pop(name, None), f"{key}.{name}") for name in asked}
        several = {
            name: _models(composer, arguments.pop(name, None), f"{key}.{name}")
            for name in parameters
            if hints.get(name) == Sequence[Model]
        }
        step: Step = build(arguments, key, **one, **several)
        step.model = one[asked[0]] if asked else None
        step.models = [*one.values(), *(model for models in several.values() for model in models)]
        steps.extend(step.stages())
        states.append(
            arguments
            | {name: model.name for name, model in one.items()}
            | {name: [model.name for model in models] for name, models in several.items()}
        )
    for step, name in zip(steps, _distinct([step.name for step in steps]), strict=True):
        step.name = name
    return steps, states


def _models(composer: Composer, nodes: Any, key: str) -> list[Model]:
    """The models that a step's config names: one, or a list."""
    listed = nodes if isinstance(nodes, list | tuple) else [] if nodes is None else [nodes]
    if not listed:
        raise ConfigError(f"`{key}` names no model. Name one or several, e.g. {key.rpartition('.')[2]}: [gpt,claude].")
    return [composer.model_of(node, f"{key}[{n}]") for n, node in enumerate(listed)]


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, numbered where one comes again: score, score-2."""
    found: list[str] = []
    for name in names:
        number = 1
        while (one := name if number == 1 else f"{name}-{number}") in found:
            number += 1
        found.append(one)
    return found


def judged(items: Sequence[Item], chosen: Settings) -> list[Judgment]:
    """Judge items with a composed config, without journal, analysis or tracking. In input order."""
    from undogmatic.engine.journal import Journals
    from undogmatic.readouts.chat import finished

    recipe, engine = Recipe(chosen.model_dump()), build(chosen.engine, "engine")
    judgments: list[Judgment] = finished(engine.arun(recipe, items, Journals(None, recipe.build().steps)))[1]
    return judgments
