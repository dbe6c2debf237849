"""Judges within judges: from a config node to a judge whose own judges, prompts, models and readouts are built too.

A constructor parameter of type `Judge` (or a sequence of them) takes, in a config, the name of a file of `conf/judge/`
or a mapping: `{judge: debate, separate_calls: true}`. The mapping may name a `prompt`, `model` or `readout` of its own.
"""

from __future__ import annotations

import copy
import inspect
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from undogmatic.config.build import Settings, build, resolve, short
from undogmatic.config.groups import named
from undogmatic.constructs.faithfulness.embeddings import Embeddings
from undogmatic.constructs.faithfulness.nli import Entailment
from undogmatic.errors import ConfigError
from undogmatic.judges.asker import Asker, Wordings, WordsAsker
from undogmatic.judges.base import Judge
from undogmatic.judges.levels import LevelsAsker
from undogmatic.models.base import Model, SeveralModels
from undogmatic.readouts.base import Readout
from undogmatic.readouts.chat import LanguageModel
from undogmatic.readouts.logprobs import LogprobsReadout
from undogmatic.readouts.prompt import Prompt
from undogmatic.readouts.structured import SamplesReadout, StructuredReadout
from undogmatic.records.records import digest
from undogmatic.records.rubric import Rubric

PARTS = ("prompt", "model", "readout")
PROMPTED = ("structured", "logprobs")
"""Readouts that read a prompt, by preference."""


class Composer:
    """Builds the judge of a run, and what the judges inside it need.

    Args:
        chosen: The run's config.
        rubric, prompt, model, readout: The run's own parts; the readout is not bound yet.
    """

    def __init__(self, chosen: Settings, rubric: Rubric, prompt: Prompt, model: Model, readout: Readout) -> None:
        self.chosen, self.rubric, self.prompt, self.readout = chosen, rubric, prompt, readout
        self.own, self._unbound = model, copy.deepcopy(readout)
        self.models = {digest(chosen.model): model}
        self._asked = self._given = self.elsewise = False
        self.embeddings: dict[str, Embeddings] = {}
        self.places: list[dict[str, Any]] = []
        """Model, prompt and readout of every judge inside that has its own."""

    def with_prompt(self, prompt: Prompt) -> Composer:
        """A composer of the same judges with another prompt; models and embeddings are shared."""
        made = Composer(self.chosen, self.rubric, prompt, self.own, copy.deepcopy(self._unbound))
        made.models, made.embeddings = self.models, self.embeddings
        made._given, made.elsewise = self.uses_own, True
        return made

    def judge(self, node: Any = None, key: str = "judge") -> Judge:
        """The run's judge, or the one that `node` describes: a name, or a mapping as a panel's members take it."""
        found = self._judge(self.chosen.judge if node is None else node, key, self.readout)
        self.prompt.adapt(found, key)
        return found

    def model_of(self, node: Any, key: str) -> Model:
        """The model that a part asks: the run's own, or the one that its config names."""
        return self._model(self.chosen.model if node is None else self._node("model", node, key), key)

    @property
    def uses_own(self) -> bool:
        """Whether a step or a judge asks the run's own model; to be read when all of them are built."""
        return self._asked or self._given

    def model(self) -> Model | None:
        """The model to connect and to close: all that steps and judges ask, or None where they ask nobody."""
        models = list(self.models.values())[0 if self.uses_own else 1 :]
        return SeveralModels(models) if len(models) > 1 else next(iter(models), None)

    def _judge(self, node: Any, key: str, readout: Readout) -> Judge:
        if isinstance(node, str):
            node = {"judge": node}
        if not isinstance(node, Mapping):
            raise ConfigError(
                f"`{key}` is {short(node)}; it must be the name of a judge, or a mapping with `judge: NAME`."
            )
        arguments = dict(node)
        if "judge" in arguments:
            arguments = named("judge", arguments.pop("judge"), f"{key}.judge", self.chosen) | arguments
        own = {part: arguments.pop(part) for part in PARTS if part in arguments}
        if own:
            readout = self._own_readout(own, key)
        wordings = arguments.pop("wordings", {})
        before = len(self.places)
        supplied = self._supplied(resolve(arguments.get("_target_"), key, "judge"), arguments, key, readout, wordings)
        judge: Judge = build(arguments, key, **supplied)
        judge.judge_by(self.rubric)
        judge.places = [p | {"key": f"judge{p['key'].removeprefix(key)}"} for p in self.places[before:]]
        return judge

    def _supplied(
        self, target: Any, arguments: dict[str, Any], key: str, readout: Readout, wordings: Wordings
    ) -> dict[str, Any]:
        """What a constructor wants of the run, by the types of its parameters; what `arguments` say of it is taken out
        of them."""
        hints = typing.get_type_hints(target.__init__)
        supplied: dict[str, Any] = {}
        for name, parameter in inspect.signature(target.__init__).parameters.items():
            hint = hints.get(name)
            if hint is Readout:
                supplied[name] = self._bound(readout)
            elif hint is Asker:
                supplied[name] = asker_for(self._bound(readout), wordings)
            elif hint is Rubric:
                supplied[name] = self.rubric
            elif hint is Prompt:
                supplied[name] = self.prompt
            elif hint is Embeddings:
                supplied[name] = self._embeddings(arguments.pop(name, None), f"{key}.embeddings")
            elif hint is Entailment:
                supplied[name] = self._entailment(arguments.pop(name, None), f"{key}.nli", readout)
            elif hint is Judge or hint == Sequence[Judge]:
                if name not in arguments and parameter.default is parameter.empty:
                    raise ConfigError(f"`{key}.{name}` is required. Set it with `{key}.{name}=...`.")
                if name in arguments:
                    inner = arguments.pop(name)
                    supplied[name] = self._inner(inner, f"{key}.{name}", readout, hint is not Judge)
        return supplied

    def _bound(self, readout: Readout) -> Readout:
        """The run's readout is bound when a judge first asks through it: one that asks nobody needs none that fits."""
        if readout is self.readout and not self._asked:
            readout.bind(self.models[digest(self.chosen.model)], self.prompt, self.rubric)
            self._asked = True
        return readout

    def _embeddings(self, given: Any, key: str) -> Embeddings:
        """The run's embeddings, or those that a config names; one object for all that name the same."""
        node = self.chosen.embeddings if given is None else self._node("embeddings", given, key)
        place = digest(node)
        if place not in self.embeddings:
            self.embeddings[place] = build(node, key)
        return self.embeddings[place]

    def _entailment(self, given: Any, key: str, readout: Readout) -> Entailment:
        arguments = dict(self.chosen.nli if given is None else self._node("nli", given, key))
        wordings = arguments.pop("wordings", {})
        target = resolve(arguments.get("_target_"), key)
        found: Entailment = build(arguments, key, **self._supplied(target, arguments, key, readout, wordings))
        return found

    def _inner(self, node: Any, key: str, readout: Readout, several: bool) -> Judge | list[Judge]:
        if not several:
            return self._judge(node, key, readout)
        if not isinstance(node, list) or not node:
            raise ConfigError(f"`{key}` is {short(node)}; it must be a list of judges, e.g. {key}=[score,debate].")
        return [self._judge(each, f"{key}[{n}]", readout) for n, each in enumerate(node)]

    def _own_readout(self, own: Mapping[str, Any], key: str) -> Readout:
        nodes = {part: self._node(part, own.get(part, getattr(self.chosen, part)), key) for part in PARTS}
        prompt = build(nodes["prompt"], f"{key}.prompt") if "prompt" in own else self.prompt
        prompt = prompt.in_language(self.prompt.language) or prompt if self.elsewise else prompt
        model = self._model(nodes["model"], f"{key}.model")
        node = readout_node(nodes["readout"], model, self.rubric, self.chosen)
        if "prompt" in own and not _reads_prompts(node, key):
            if nodes["readout"].get("_target_") != "auto":
                raise ConfigError(
                    f"`{key}.prompt` is {prompt.id!r}, but the readout chosen reads no prompt; leave it out, or "
                    f"name a readout that does (e.g. {key}.readout=logprobs)."
                )
            able = next((name for name in PROMPTED if name in model.readouts), None)
            if able is None:
                raise ConfigError(
                    f"`{key}.prompt` is {prompt.id!r}, but {model.name} reads no prompt (it serves: "
                    f"{', '.join(model.readouts)}). Use a model that does, e.g. model=local or model=gpt."
                )
            node = named("readout", able, f"{key}.readout", self.chosen)
        readout: Readout = build(node, f"{key}.readout")
        readout.bind(model, prompt, self.rubric)
        readout.lm = LanguageModel(model)
        self.places.append(
            {"key": key, "model": model.name, "prompt": prompt.hash(self.rubric), "readout": readout.settings()}
        )
        return readout

    def _model(self, node: Mapping[str, Any], key: str) -> Model:
        place = digest(node)
        self._given = self._given or place == digest(self.chosen.model)
        if place not in self.models:
            self.models[place] = build(node, key)
        return self.models[place]

    def _node(self, part: str, given: Any, key: str) -> Mapping[str, Any]:
        if isinstance(given, str):
            return named(part, given, f"{key}.{part}", self.chosen)
        if not isinstance(given, Mapping):
            raise ConfigError(
                f"`{key}.{part}` is {short(given)}; it must be the name of a {part}, or its keys and values."
            )
        if part in given:  # {model: openrouter, name: ...}: a named one with changes
            return named(part, given[part], f"{key}.{part}", self.chosen) | {
                k: v for k, v in given.items() if k != part
            }
        return given


def readout_node(
    node: Mapping[str, Any], model: Model, rubric: Rubric, chosen: Settings, prompted: bool = False
) -> Mapping[str, Any]:
    """`readout=auto` is the model's default readout with that readout's own defaults; everything else is itself.

    Args:
        node: The config's.
        model, rubric, chosen: The run's.
        prompted: Whether it must be one that reads prompts, as the model serves one.
    """
    if node.get("_target_") != "auto":
        return node
    name = model.default_readout(rubric.name)
    if prompted and name not in PROMPTED:
        name = next((each for each in PROMPTED if each in model.readouts), name)
    extra = sorted(set(node) - {"_target_"})
    if extra:
        raise ConfigError(
            f"`readout.{extra[0]}` was given with readout=auto, which has no options. Name the readout, e.g. "
            f"readout={name} readout.{extra[0]}=..."
        )
    return named("readout", name, "readout", chosen)


def _reads_prompts(node: Mapping[str, Any], key: str) -> bool:
    return bool(resolve(node.get("_target_"), f"{key}.readout").uses_prompt)


def asker_for(readout: Readout, wordings: Wordings) -> Asker:
    """The asker that goes with a bound readout: its own kind where it asks in words or levels, else what the model can.

    Raises:
        ConfigError: The model answers neither in words nor with log-probabilities.
    """
    model = readout.model
    parts = (model, readout.prompt, readout.rubric, wordings, readout.lm)
    words = readout.inner if isinstance(readout, SamplesReadout) else readout
    if isinstance(words, StructuredReadout):
        return WordsAsker(*parts, temperature=words.temperature, top_p=words.top_p)
    if isinstance(readout, LogprobsReadout):
        return LevelsAsker(*parts, top=readout.top, minimum_mass=readout.minimum_mass)
    if "structured" in model.readouts:
        return WordsAsker(*parts)
    if "logprobs" in model.readouts:
        return LevelsAsker(*parts)
    raise ConfigError(
        f"this judge asks the model further questions, and {model.name} answers none (it serves: "
        f"{', '.join(model.readouts)}). Use a model that serves structured or logprobs, e.g. model=local or model=gpt, "
        "or a judge that only scores: judge=score."
    )
