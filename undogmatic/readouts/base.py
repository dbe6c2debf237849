"""Defines what a readout is: it turns a model's answer into a `Verdict`."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, NoneType
from typing import Any, Self

import dspy
import numpy as np
from pydantic import BaseModel

from undogmatic.errors import ConfigError, UnfitInput
from undogmatic.models.base import Model
from undogmatic.models.language_model import LanguageModel
from undogmatic.readouts import adapter
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item, ScoreDistribution, Verdict, entropy_verdict
from undogmatic.records.rubric import NumericScale, Rubric
from undogmatic.safety.loops import finished
from undogmatic.stats.uncertainty import discretised_normal


class Unit(dspy.Module):
    """A DSPy module, readout or judge, whose identity, by which a resumed run is known again, is
    what it was made with: nobody can forget an argument that changes its answers."""

    contents: Mapping[str, Any] = {}
    """What takes an argument's place in the identity: the contents of a file, or of an earlier run,
    that it names."""

    def __new__(cls, *args: Any, **options: Any) -> Self:
        made = super().__new__(cls)
        # a copy is made without any
        bound = inspect.signature(cls.__init__).bind_partial(made, *args, **options)
        bound.apply_defaults()
        made._arguments = {
            name: _plain(value) for name, value in list(bound.arguments.items())[1:]
        }
        return made

    def argument(self, name: str) -> Any:
        """What it was constructed with under this name; None where it knows no such argument."""
        # passed on as **options
        inside = [
            value for value in self._arguments.values() if isinstance(value, dict)
        ]
        return next(
            (
                each[name]
                for each in (vars(self), self._arguments, *inside)
                if name in each
            ),
            None,
        )

    def identity(self) -> dict[str, Any]:
        """What determines its answers, as plain data: its class and its arguments. Predictors
        inside it count apart."""
        return {
            "class": _name(type(self)),
            "arguments": self._arguments | dict(self.contents),
        }


_FORMS: tuple[tuple[Any, Callable[[Any, int], Any]], ...] = (
    ((bool, int, float, str, NoneType), lambda value, depth: value),
    # they have hashes of their own in the identity of a run
    (
        (Rubric, Prompt),
        lambda value, depth: None,
    ),
    (Model, lambda value, depth: value.name),
    (BaseModel, lambda value, depth: value.model_dump(mode="json")),
    ((type, FunctionType), lambda value, depth: _name(value)),
    ((np.ndarray, np.generic), lambda value, depth: value.tolist()),
    (
        Mapping,
        lambda value, depth: {
            str(key): _plain(each, depth) for key, each in value.items()
        },
    ),
    ((list, tuple), lambda value, depth: [_plain(each, depth) for each in value]),
)


def _name(kind: type | FunctionType) -> str:
    """The full name of a class or function."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _plain(value: Any, depth: int = 6) -> Any:
    """An argument as JSON can hold it: by what it says of itself, as a Unit does, else an object of
    a class of one's own by its class and what is in it, so many levels deep."""
    if hasattr(value, "identity") and not isinstance(value, type):
        return value.identity()
    for kinds, form in _FORMS:
        if isinstance(value, kinds):
            return form(value, depth)
    inside = getattr(value, "__dict__", {}) if depth else {}
    return {"class": type(value).__qualname__} | {
        name: _plain(part, depth - 1) for name, part in inside.items()
    }


class Readout(Unit):
    """Base of all readouts. `bind` is called once with what the run composed; `aforward(item)`
    gives a Prediction with one field, `verdict`. The model that is asked is that of `dspy.context`,
    unless it has its own (`lm`).
    """

    name = "readout"  # its name in `readout=`
    # of the model: structured (a chat), logprobs, probe (hidden states), decision or rules
    needs = "structured"
    # whether the prompt variant reaches the model at all; reports say so where it does not
    uses_prompt = True
    deterministic = True  # whether it asks at temperature 0
    # whether a base model may be asked without examples, as where an optimiser begins
    zero_shot = False
    lm: LanguageModel | None = None
    predict: dspy.Predict  # where it asks by DSPy, as the next two
    adapter: adapter.JudgeAdapter  # the form of the request
    given: dict[str, Any]  # its further inputs

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        """Take the composed parts and check that they fit. Raises ConfigError."""
        if self.needs not in model.readouts:
            raise ConfigError(
                f"readout={self.name} does not work with this model ({model.name}); it serves: "
                f"{', '.join(model.readouts)}. Use readout=auto for its default."
            )
        if self.uses_prompt:
            prompt.check(rubric)
        self.model, self.prompt, self.rubric = model, prompt, rubric

    async def read(self, item: Item) -> Verdict:
        """Read one item. Raises ModelError."""
        raise NotImplementedError

    async def aforward(self, item: Item) -> dspy.Prediction:
        with dspy.context(lm=self.lm or dspy.settings.lm):
            return dspy.Prediction(
                verdict=categorised(await self.read(item), self.rubric)
            )

    def forward(self, item: Item) -> dspy.Prediction:
        """`aforward` for callers without an event loop."""
        return finished(self.aforward(item=item))

    def predictor(
        self, task: str, fields: Mapping[str, Any], *helpers: str, **settings: Any
    ) -> dspy.Predict:
        """A predictor of what is judged, with the prompt's worked examples; their score is `score`
        in every signature. `fields` are those of the answer, `helpers` optional inputs without
        "the_", `settings` those of the requests.
        """
        judged = adapter.judged(self.rubric, self.prompt.language)
        predict = dspy.Predict(
            adapter.signature(task, judged, fields, helpers=helpers), **settings
        )
        for demo in self.prompt.shown():
            answer = demo.model_dump(include={"score", "confidence", "rationale"})
            predict.demos.append(
                dspy.Example(**demo.inputs, **answer).with_inputs(*demo.inputs)
            )
        return predict

    def fitted_on(self) -> frozenset[str]:
        """Marks (`records.text_mark`) of the texts it was fitted on; reports warn where they are
        judged."""
        return frozenset()

    def shown(self) -> str:
        """What the model is shown beside the judged text, demonstrations included; for reports and
        the registry."""
        return (
            shown(self.predict, self.adapter, self.rubric, self.given)
            if hasattr(self, "given")
            else ""
        )


def shown_inputs(item: Item, rubric: Rubric) -> dict[str, str]:
    """The inputs of the item that the rubric shows, in its order. Raises ConfigError where one is
    missing; UnfitInput, which fails this item alone, where the rubric lets an item lack it."""
    lacking = rubric.optional if rubric.partial else ()
    missing = [
        name
        for name in rubric.inputs
        if name not in item.inputs and name not in lacking
    ]
    if missing and missing[0] in rubric.optional:
        raise UnfitInput(
            f"there is no {missing[0]} (the item has: {', '.join(item.inputs)})"
        )
    if missing:
        raise ConfigError(
            f"{item.place + ': ' if item.place else ''}item {item.id!r} has no input"
            f" `{missing[0]}`, which rubric={rubric.name} shows (it has: {', '.join(item.inputs)})."
            " Name the columns: dataset.inputs=[...]."
        )
    return {name: item.inputs[name] for name in rubric.inputs if name in item.inputs}


def shown_text(item: Item, rubric: Rubric) -> str:
    """What is shown as one text, for models that read a single one: the inputs in order, a blank
    line between them."""
    return "\n\n".join(shown_inputs(item, rubric).values())


def written_text(item: Item, rubric: Rubric) -> str:
    """The same for a regression, which finds a score for whatever it is given. Raises UnfitInput
    where no letter or digit is in it: of a blank page it says what it says of texts on average."""
    text = shown_text(item, rubric)
    if not any(character.isalnum() for character in text):
        raise UnfitInput(
            "there is no letter and no digit in it, so there is nothing to judge"
        )
    return text


def normal_verdict(rubric: Rubric, score: float, sd: float, **fields: Any) -> Verdict:
    """The verdict of an estimated score with its standard deviation, which is taken for that of a
    normal distribution over the rubric's levels."""
    shares = discretised_normal(score, sd, rubric.levels)
    distribution = ScoreDistribution(
        values=rubric.levels, probabilities=tuple(shares.tolist())
    )
    return entropy_verdict(distribution, score=score, **fields)


def voted(
    categories: Sequence[str | None],
    rubric: Rubric,
    weights: Sequence[float] | None = None,
    **fields: Any,
) -> Verdict:
    """The verdict of several answers on categories without an order: the share of their votes, and
    its entropy. With weights a vote counts so much; they sum to 1."""
    votes = [rubric.scale.read(category) for category in categories]
    if weights is None:
        shares = tuple(votes.count(value) / len(votes) for value in rubric.levels)
    else:
        shares = tuple(
            math.fsum(
                w for vote, w in zip(votes, weights, strict=True) if vote == value
            )
            for value in rubric.levels
        )
    return entropy_verdict(
        ScoreDistribution(values=rubric.levels, probabilities=shares), **fields
    )


def categorised(verdict: Verdict, rubric: Rubric) -> Verdict:
    """The verdict with the category it stands for, where the scale has any: the likeliest, else the
    nearest. Categories without an order keep no number."""
    scale = rubric.scale
    if isinstance(scale, NumericScale) or verdict.category is not None:
        return verdict
    value = (
        verdict.score
        if scale.ordered or verdict.distribution is None
        else verdict.distribution.mode
    )
    if value is None:
        return verdict
    numbers = {} if scale.ordered else dict.fromkeys(("score", "raw_score", "interval"))
    return verdict.replace(category=scale.write(value), **numbers)


def spread_over(scores: Sequence[float], rubric: Rubric) -> ScoreDistribution:
    """Several scores as one distribution over the rubric's levels, with their mean as its
    expectation. A score between two levels is shared between them in proportion, so every level
    counts, also one that no score fell on: the entropy of five equal scores and of five that fill
    the scale are comparable with any other distribution's.
    """
    levels = rubric.levels
    masses = [0.0] * len(levels)
    for score in scores:
        above = next(
            (n for n, value in enumerate(levels) if value >= score), len(levels) - 1
        )
        if above == 0 or levels[above] <= score:
            masses[above] += 1
            continue
        share = (score - levels[above - 1]) / (levels[above] - levels[above - 1])
        masses[above] += share
        masses[above - 1] += 1 - share
    return ScoreDistribution(
        values=levels, probabilities=tuple(mass / len(scores) for mass in masses)
    )


def mixture(
    verdicts: Sequence[Verdict], weights: Sequence[float]
) -> ScoreDistribution | None:
    """Several verdicts' distributions as one: their weighted mean, level by level (a linear opinion
    pool). None where a verdict has no distribution, or one over other levels.

    Args:
        weights: One per verdict, 0 or more, summing to 1.
    References:
        Stone (1961), doi:10.1214/aoms/1177704873
    """
    spreads = [
        verdict.distribution for verdict in verdicts if verdict.distribution is not None
    ]
    if len(spreads) < len(verdicts) or len({spread.values for spread in spreads}) != 1:
        return None
    mean = np.average(
        [spread.probabilities for spread in spreads], axis=0, weights=weights
    )
    return ScoreDistribution(
        values=spreads[0].values,
        probabilities=tuple((mean / mean.sum()).tolist()),
        off_scale=float(
            np.average([spread.off_scale for spread in spreads], weights=weights)
        ),
    )


def shown(
    predict: dspy.Predict,
    form: adapter.JudgeAdapter,
    rubric: Rubric,
    given: dict[str, Any],
) -> str:
    """All that a predictor sends but the judged text, as one text."""
    messages = form.format(
        predict.signature, predict.demos, dict.fromkeys(rubric.inputs, "") | given
    )
    before = messages[:-1] or messages
    if form.base:
        return "".join(str(m["content"]) for m in before)
    return "\n\n".join(
        str(m["content"]) if m["role"] == "system" else f"[{m['role']}]\n{m['content']}"
        for m in before
    )


def agreement_confidence(shares: Sequence[float]) -> float:
    """100 x (1 - 2 standard deviations) of scores on 0-1: equal scores give 100, an even split over
    both ends 0."""
    mean = sum(shares) / len(shares)
    variance = sum((share - mean) ** 2 for share in shares) / len(shares)
    return 100.0 * max(0.0, 1 - 2 * variance**0.5)
