"""Builds from a composed config what is to be done with every item: rubric, prompt, model, readout,
steps and judges.

A constructor parameter of type `Judge` (or a sequence of them) takes, in a config, the name of a
file of `conf/judge/` or a mapping: `{judge: debate, separate_calls: true}`. The mapping may name a
`prompt`, `model` or `readout` of its own. A parameter whose class names its `group` of configs is
built from the run's own node of that group, or the one given.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import typing
from collections.abc import Mapping, Sequence, Set
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import dspy

from undogmatic.config import groups
from undogmatic.config.build import Settings, build, resolve, settings
from undogmatic.config.groups import named
from undogmatic.engine.examples import taken
from undogmatic.engine.journal import Journals
from undogmatic.engine.step import JudgeStep, Step
from undogmatic.errors import ConfigError
from undogmatic.judges.asker import Asker, Wordings, asker_for
from undogmatic.judges.base import Judge
from undogmatic.models.base import Model, Nobody, SeveralModels
from undogmatic.models.language_model import LanguageModel
from undogmatic.readouts.asking import Otherwise, otherwise
from undogmatic.readouts.base import Readout
from undogmatic.readouts.decision import Rivals
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.kept import gathered
from undogmatic.records.marks import was_seen
from undogmatic.records.records import Asking, Item, Judgment, Provenance, digest
from undogmatic.records.rubric import Rubric
from undogmatic.safety.loops import finished
from undogmatic.safety.outside import brief

PARTS = ("prompt", "model", "readout")
PROMPTED = ("structured", "logprobs")  # readouts that read a prompt, by preference


class Parts(NamedTuple):
    """What a recipe composes, built and bound to one another."""

    rubric: Rubric
    prompt: Prompt
    # the one to connect and to close; it stands for all that steps and judges ask
    model: Model
    readout: Readout
    judges: tuple[JudgeStep, ...]  # of the items that the last step made; at least one
    # what makes items from items, in their order; often nothing
    steps: tuple[Step, ...] = ()
    # False where the judgments were made elsewhere, and there is nobody to ask
    asks: bool = True
    # whether a step or a judge asks the model that `model=` names
    uses_own: bool = True
    # the run's groups besides these that a step or a judge asked for, e.g. `nli`
    groups: Set[str] = frozenset()
    # ids of the dataset's items that the prompt shows as examples, or kin of these
    shown: frozenset[str] = frozenset()
    # what the judgments depend on, part by part (`runs.growth`)
    made_of: Mapping[str, Any] | None = None

    def asking(self) -> AbstractContextManager[None]:
        """The context in which steps and judges work: the model that is asked where they have none
        of their own."""
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
        names = (
            name
            for step in self.judges
            for name in step.provenance.readout.split("+")
            if name
        )
        return "+".join(dict.fromkeys(names))

    @property
    def identity(self) -> str:
        """Hash of all that determines the judgments, given the items."""
        hashes = [judge.provenance.config_hash for judge in self.judges]
        return hashes[0] if len(hashes) == 1 else digest(hashes)

    def expected(self) -> list[tuple[str, str]]:
        """Judge and criterion of every judgment that an item shall have."""
        return [
            (judge.name, criterion)
            for judge in self.judges
            for criterion in judge.criteria
        ]

    @property
    def prompted(self) -> bool:
        """Whether the run's prompt, or one of a judge's own, reaches a model."""
        return any(
            source.uses_prompt
            for step in self.judges
            for source in step.judge.readouts()
        )

    def deterministic(self) -> bool:
        """Whether the same question gets the same answer, as far as the readouts go."""
        return all(
            source.deterministic
            for step in self.judges
            for source in step.judge.readouts()
        )

    def asked(self, items: Sequence[Item]) -> Sequence[Item]:
        """Those of the items that all judges can be asked about in the way that they name."""
        if all(item.asking is None for item in items):
            return items
        return gathered(
            i for i in items if all(judge.can_ask(i) for judge in self.judges)
        )

    def rivals(self) -> Rivals:
        """The models that read the surface alone and were fitted to the rubric's construct."""
        return Rivals(self.rubric.rivals)

    def fitted(self, items: Sequence[Item]) -> int:
        """How many of the items something in a judge was fitted on."""
        seen = self.fitted_on()
        return sum(was_seen(item.text, seen) for item in items)

    def fitted_on(self) -> frozenset[str]:
        """Marks (`records.text_mark`) of the texts that something in a judge was fitted on."""
        return frozenset().union(*(step.judge.fitted_on() for step in self.judges))


class Recipe:
    """A composed config as plain data, from which every process that works on the items builds its
    own parts. `parts` are what was built already, for use in this process only."""

    def __init__(self, config: Mapping[str, Any], parts: Parts | None = None) -> None:
        self.config, self._parts = config, parts

    def build(self) -> Parts:
        """Rubric, prompt, model, readout, steps and judges; built once in a process. Raises
        ConfigError."""
        # Built once: the model that is connected must be the one that the judges ask.
        if self._parts is not None:
            return self._parts
        chosen = settings(self.config)
        # A worker process has none of the folders of the process that composed the
        # config, until it is told.
        groups.search(chosen.folders)
        rubric: Rubric = build(chosen.rubric, "rubric")
        prompt, shown = taken(build(chosen.prompt, "prompt"), rubric, chosen)
        model: Model = build(chosen.model, "model")
        prompted = chosen.optimizes or prompt.brings_program
        readout: Readout = build(
            readout_node(chosen.readout, model, rubric, chosen, prompted), "readout"
        )
        readout.zero_shot = readout.zero_shot or chosen.optimizes
        composer = Composer(chosen, rubric, prompt, model, readout)
        steps, states, stages = _steps(composer)
        judges = tuple(_judge_steps(composer, states))
        # Judges by rules ask nobody, and must not start a server for it.
        asked = composer.model() or Nobody(
            " + ".join(dict.fromkeys(step.provenance.model for step in judges))
        )
        facts: dict[str, Any] = {
            "uses_own": composer.uses_own,
            "groups": composer.groups,
            "shown": shown,
            "made_of": {
                "rubric": digest(_ruled(rubric)),
                "seed": chosen.seed,
                "judges": {step.name: _judged_by(step.provenance) for step in judges},
                "steps": stages,
            },
        }
        self._parts = Parts(
            rubric, prompt, asked, readout, judges, tuple(steps), **facts
        )
        return self._parts

    # Only the config is sent to workers. Models hold sockets and weights, which no
    # other process can use.
    def __reduce__(self) -> tuple[type[Recipe], tuple[Mapping[str, Any]]]:
        return Recipe, (self.config,)


def _judge_steps(composer: Composer, states: Sequence[Any]) -> list[JudgeStep]:
    """The run's judges, each with what determines its judgments."""
    chosen, rubric, prompt = composer.chosen, composer.rubric, composer.prompt
    if chosen.judges is not None and not chosen.judges:
        raise ConfigError(
            "`judges` is []; name at least one, e.g. judges=[score,debate], or leave it out."
        )
    judges = [
        composer.judge(node, f"judges[{n}]")
        for n, node in enumerate(chosen.judges or ())
    ] or [composer.judge()]
    asked_model = composer.model() or composer.own
    made = []
    for n, (name, judge) in enumerate(
        zip(_distinct([judge.name for judge in judges]), judges, strict=True)
    ):
        program = judge.program_hash()
        asked, shown = asked_model.name, prompt
        # Each of several may have a model or prompt of its own, as if it were run alone; and one
        # may ask none at all.
        if chosen.judges is not None or not judge.asks:
            sources = judge.readouts()
            asked = (
                " + ".join(dict.fromkeys(source.model.name for source in sources))
                or asked
            )
            shown = (
                sources[0].prompt
                if len({source.prompt.hash(rubric) for source in sources}) == 1
                else shown
            )
        state = {
            "program": program,
            "model": asked,
            "rubric": _ruled(rubric),
            "seed": chosen.seed,
        }
        state |= {"prompt": shown.hash(rubric)} | ({"steps": states} if states else {})
        provenance = Provenance(
            model=asked,
            readout="+".join(dict.fromkeys(source.name for source in judge.readouts())),
            prompt=shown.id,
            prompt_hash=shown.hash(rubric),
            program_hash=program,
            config_hash=digest(state),
        )
        made.append(
            JudgeStep(
                judge,
                provenance,
                name,
                functools.partial(_otherwise, composer, states, n),
            )
        )
    return made


def _ruled(rubric: Rubric) -> dict[str, Any]:
    """What of a rubric determines a judgment."""
    # Left out is what does not change the question: another margin must not make a
    # finished run be judged again.
    return rubric.model_dump(
        mode="json", exclude={"margin", "rivals", "optional", "field_words"}
    )


def _judged_by(provenance: Provenance) -> dict[str, str]:
    return {
        "model": provenance.model,
        "prompt": provenance.prompt_hash,
        "program": provenance.program_hash,
    }


def _otherwise(
    composer: Composer,
    states: Sequence[Any],
    place: int,
    code: str | None,
    asking: Asking | None,
) -> JudgeStep | None:
    """The judge at this place of the run, asking in another language or in another way; None where
    it has no words in it, or where what it asks would not differ."""
    prompt, rubric = composer.prompt, composer.rubric
    if code is not None and not composer.chosen.optimizes and code in rubric.wordings:
        prompt = composer.prompt.in_language(code) or prompt
    if asking is None and prompt is composer.prompt:
        return None
    as_it_was = _asking(composer, states, place, Otherwise(prompt, rubric))
    if asking is None:
        return as_it_was
    if as_it_was is None or not any(
        source.uses_prompt for source in as_it_was.judge.readouts()
    ):
        return None
    other = otherwise(asking, prompt, rubric)
    if other is None or asking.way == "again":
        return other and as_it_was
    made = _asking(composer, states, place, other)
    # Where the other way of asking would send the same words, the answers would agree
    # for that reason, and seem steady.
    return None if made is None or _shown(made) == _shown(as_it_was) else made


def _asking(
    composer: Composer, states: Sequence[Any], place: int, other: Otherwise
) -> JudgeStep | None:
    """The judge at this place with another question; None where a style, a readout or a calibration
    knows the run's own only."""
    try:
        step = _judge_steps(composer.asking(other), states)[place]
    # A part that cannot be asked otherwise is no mistake of the user's: that test is
    # left out, and said to be.
    except ConfigError:
        return None
    rubric = composer.rubric
    back = functools.partial(other.score, rubric=rubric)
    return JudgeStep(step.judge, step.provenance, step.name, back=back)


def _shown(step: JudgeStep) -> list[str]:
    return [source.shown() for source in step.judge.readouts()]


def _steps(composer: Composer) -> tuple[list[Step], list[Any], list[dict[str, Any]]]:
    """The steps that make items, what determines what they make, and this part by part."""
    steps: list[Step] = []
    states = []
    stages: list[list[Step]] = []
    parted: list[dict[str, Any]] = []
    for n, node in enumerate(composer.chosen.steps):
        key = f"steps[{n}]"
        arguments = composer.written_out("step", node, key)
        asked: dict[str, Model | list[Model]] = {}
        # By the types of a constructor, and not by names of keys: a step of a user's
        # own package gets its models like ours.
        for name, hint in typing.get_type_hints(
            resolve(arguments.get("_target_"), key).__init__
        ).items():
            place = f"{key}.{name}"
            if hint is Model:
                asked[name] = composer.model_of(arguments.pop(name, None), place)
            elif hint == Sequence[Model]:
                if not (nodes := arguments.pop(name, None)):
                    raise ConfigError(
                        f"`{place}` names no model. Name one or several, e.g. {name}: [gpt,claude]."
                    )
                listed = nodes if isinstance(nodes, list | tuple) else [nodes]
                asked[name] = [
                    composer.model_of(one, f"{place}[{m}]")
                    for m, one in enumerate(listed)
                ]
        step: Step = build(arguments, key, **asked)
        step.model = next(
            (model for model in asked.values() if isinstance(model, Model)), None
        )
        step.models = list(
            itertools.chain(
                *(part if isinstance(part, list) else [part] for part in asked.values())
            )
        )
        stages.append([*step.stages()])
        steps.extend(stages[-1])
        names: dict[str, Any] = {
            name: [m.name for m in part] if isinstance(part, list) else part.name
            for name, part in asked.items()
        }
        states.append(arguments | names)
        lists = {
            name: named for name, named in names.items() if isinstance(named, list)
        }
        alone = {name: named for name, named in states[-1].items() if name not in lists}
        parted.append(
            {"settings": digest(alone), "models": [*itertools.chain(*lists.values())]}
        )
    for step, name in zip(steps, _distinct([step.name for step in steps]), strict=True):
        step.name = name
    for part, own in zip(parted, stages, strict=True):
        unasked = [stage.name for stage in own if not stage.models]
        part |= {
            "name": own[-1].name,
            "stages": [s.name for s in own],
            "unasked": unasked,
        }
    return steps, states, parted


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, numbered where one comes again: score, score-2."""
    distinct: list[str] = []
    for name in names:
        numbered = (name if n == 1 else f"{name}-{n}" for n in itertools.count(1))
        distinct.append(next(one for one in numbered if one not in distinct))
    return distinct


class Composer:
    """Builds the judge of a run, and what the judges inside it need, of the run's own parts, the
    readout unbound."""

    def __init__(
        self,
        chosen: Settings,
        rubric: Rubric,
        prompt: Prompt,
        model: Model,
        readout: Readout,
    ) -> None:
        self.chosen = chosen
        self.rubric = rubric
        self.prompt = prompt
        self.readout = readout
        self.own, self._unbound = model, copy.deepcopy(readout)
        self.models = {digest(chosen.model): model}
        self._asked = self._given = self.elsewise = False
        self.shared: dict[str, Any] = {}
        self.groups: set[str] = set()
        self.places: list[
            dict[str, Any]
        ] = []  # model, prompt and readout of every judge inside that has its own

    def asking(self, other: Otherwise) -> Composer:
        """A composer of the same judges with another question; it shares models and what asks
        nothing."""
        unbound = copy.deepcopy(self._unbound)
        made = Composer(self.chosen, other.rubric, other.prompt, self.own, unbound)
        made.models, made.shared, made.groups = self.models, self.shared, self.groups
        made._given, made.elsewise = self.uses_own, True
        return made

    def judge(self, node: Any = None, key: str = "judge") -> Judge:
        """The run's judge, or the one that `node` describes: a name, or a mapping as a panel's
        members take it."""
        judge = self._judge(
            self.chosen.judge if node is None else node, key, self.readout
        )
        self.prompt.adapt(judge, key)
        return judge

    def model_of(self, node: Any, key: str) -> Model:
        """The model that a part asks: the run's own, or the one that its config names."""
        return self._model(
            self.chosen.model if node is None else self.written_out("model", node, key),
            key,
        )

    @property
    def uses_own(self) -> bool:
        """Whether a step or a judge asks the run's own model; to be read when all of them are
        built."""
        return self._asked or self._given

    def model(self) -> Model | None:
        """The model to connect and to close: all that steps and judges ask, or None where they ask
        nobody."""
        models = list(self.models.values())[0 if self.uses_own else 1 :]
        return SeveralModels(models) if len(models) > 1 else next(iter(models), None)

    def _judge(self, node: Any, key: str, readout: Readout) -> Judge:
        if not isinstance(node, str | Mapping):
            what = "it must be the name of a judge, or a mapping with `judge: NAME`"
            raise ConfigError(f"`{key}` is {brief(node)}; {what}.")
        arguments = self.written_out("judge", node, key)
        if own_parts := {
            part: arguments.pop(part) for part in PARTS if part in arguments
        }:
            readout = self._own_readout(own_parts, key)
        wordings = arguments.pop("wordings", {})
        before = len(self.places)
        supplied = self._supplied(
            resolve(arguments.get("_target_"), key, "judge"),
            arguments,
            key,
            readout,
            wordings,
        )
        judge: Judge = build(arguments, key, **supplied)
        judge.judge_by(self.rubric)
        judge.places = [
            p | {"key": f"judge{p['key'].removeprefix(key)}"}
            for p in self.places[before:]
        ]
        return judge

    def _supplied(
        self,
        target: Any,
        arguments: dict[str, Any],
        key: str,
        readout: Readout,
        wordings: Wordings,
    ) -> dict[str, Any]:
        """What a constructor wants of the run, by its parameters' types; taken out of `arguments`
        where it is there."""
        hints = typing.get_type_hints(target.__init__)
        supplied: dict[str, Any] = {}
        for name, parameter in inspect.signature(target.__init__).parameters.items():
            hint = hints.get(name)
            place = f"{key}.{name}"
            if hint is Readout:
                supplied[name] = self._bound(readout)
            elif hint is Asker:
                supplied[name] = asker_for(self._bound(readout), wordings)
            elif hint is Rubric or hint is Prompt:
                supplied[name] = self.rubric if hint is Rubric else self.prompt
            elif hasattr(hint, "group"):
                supplied[name] = self._part(
                    hint, arguments.pop(name, None), key, readout
                )
            elif hint is Judge or hint == Sequence[Judge]:
                # A judge may take another one and do without it.
                if name not in arguments and parameter.default is not parameter.empty:
                    continue
                if name not in arguments:
                    raise ConfigError(
                        f"`{place}` is required. Set it with `{place}=...`."
                    )
                inner = arguments.pop(name)
                if hint is Judge:
                    supplied[name] = self._judge(inner, place, readout)
                elif isinstance(inner, list) and inner:
                    supplied[name] = [
                        self._judge(each, f"{place}[{n}]", readout)
                        for n, each in enumerate(inner)
                    ]
                else:
                    what = f"it must be a list of judges, e.g. {place}=[score,debate]."
                    raise ConfigError(f"`{place}` is {brief(inner)}; {what}")
        return supplied

    def _bound(self, readout: Readout) -> Readout:
        """The run's readout is bound when a judge first asks through it: one that asks nobody needs
        none that fits."""
        if readout is self.readout and not self._asked:
            readout.bind(
                self.models[digest(self.chosen.model)], self.prompt, self.rubric
            )
            self._asked = True
        return readout

    def _part(self, kind: Any, choice: Any, key: str, readout: Readout) -> Any:
        """The run's own object of a group of configs, or the one that a judge's config names. One
        object for all that name the same, unless it asks something of the run."""
        group = kind.group
        node = (
            getattr(self.chosen, group)
            if choice is None
            else self.written_out(group, choice, key)
        )
        self.groups |= {group} if choice is None else set()
        arguments, key = dict(node), f"{key}.{group}"
        wordings = arguments.pop("wordings", {})
        supplied = self._supplied(
            resolve(arguments.get("_target_"), key, kind),
            arguments,
            key,
            readout,
            wordings,
        )
        # What asks something of the run belongs to the judge that holds it; what does
        # not, such as a table of sentences, is read once for all.
        if supplied:
            return build(arguments, key, **supplied)
        if (place := digest(node)) not in self.shared:
            self.shared[place] = build(arguments, key)
        return self.shared[place]

    def _own_readout(self, choices: Mapping[str, Any], key: str) -> Readout:
        nodes = {
            part: self.written_out(
                part, choices.get(part, getattr(self.chosen, part)), key
            )
            for part in PARTS
        }
        prompt = (
            build(nodes["prompt"], f"{key}.prompt")
            if "prompt" in choices
            else self.prompt
        )
        prompt = (
            prompt.in_language(self.prompt.language) or prompt
            if self.elsewise
            else prompt
        )
        model = self._model(nodes["model"], f"{key}.model")
        node = readout_node(
            nodes["readout"],
            model,
            self.rubric,
            self.chosen,
            prompted="prompt" in choices,
        )
        if (
            "prompt" in choices
            and not resolve(node.get("_target_"), f"{key}.readout").uses_prompt
        ):
            why = (
                "the readout chosen reads no prompt; leave it out, or name one that does:"
                f" {key}.readout=logprobs."
            )
            if nodes["readout"].get("_target_") == "auto":
                serves = ", ".join(model.readouts)
                why = (
                    f"{model.name} reads no prompt (it serves: {serves}). Use another, e.g."
                    " model=local or model=gpt."
                )
            raise ConfigError(f"`{key}.prompt` is {prompt.id!r}, but {why}")
        readout: Readout = build(node, f"{key}.readout")
        readout.bind(model, prompt, self.rubric)
        readout.lm = LanguageModel(model)
        asked = {
            "model": model.name,
            "prompt": prompt.hash(self.rubric),
            "readout": readout.identity(),
        }
        self.places.append({"key": key, **asked})
        return readout

    def _model(self, node: Mapping[str, Any], key: str) -> Model:
        # By content: two judges that name the same model in different words share one,
        # with its cache, pace and weights.
        place = digest(node)
        self._given = self._given or place == digest(self.chosen.model)
        if place not in self.models:
            self.models[place] = build(node, key)
        return self.models[place]

    def written_out(self, group: str, choice: Any, key: str) -> dict[str, Any]:
        """The node of a group that is given by its name, by all its keys, or by its name and
        changes to it: {model: openrouter, name: ...}."""
        changes = {group: choice} if isinstance(choice, str) else choice
        place = f"{key}.{group}"
        if not isinstance(changes, Mapping):
            raise ConfigError(
                f"`{place}` is {brief(choice)}; it must be the name of a {group}, or its keys and"
                " values."
            )
        node = (
            named(group, changes[group], place, self.chosen) if group in changes else {}
        )
        return node | {name: value for name, value in changes.items() if name != group}


def readout_node(
    node: Mapping[str, Any],
    model: Model,
    rubric: Rubric,
    chosen: Settings,
    prompted: bool = False,
) -> Mapping[str, Any]:
    """`readout=auto` is the model's default readout with that readout's own defaults, or one that
    reads prompts where it is to be `prompted` and the model serves one; everything else is itself.
    """
    if node.get("_target_") != "auto":
        return node
    name = model.default_readout(rubric.name)
    if prompted and name not in PROMPTED:
        name = next((each for each in PROMPTED if each in model.readouts), name)
    # Which readout `auto` becomes is the model's matter. An option for one of them
    # would be lost in silence with another.
    if extra := sorted(set(node) - {"_target_"}):
        way = f"Name the readout, e.g. readout={name} readout.{extra[0]}=..."
        raise ConfigError(
            f"`readout.{extra[0]}` was given with readout=auto, which has no options. {way}"
        )
    return named("readout", name, "readout", chosen)


def judged(items: Sequence[Item], chosen: Settings) -> list[Judgment]:
    """Judge items with a composed config, without journal, analysis or tracking. In input order."""
    recipe, engine = Recipe(chosen.model_dump()), build(chosen.engine, "engine")
    judgments: list[Judgment] = finished(
        engine.arun(recipe, items, Journals(None, recipe.build().steps))
    )[1]
    return judgments
