"""`integers`: a whole number as the answer; the odds of its tokens are the distribution."""

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.models.base import Model
from undogmatic.models.calls import reading
from undogmatic.readouts import adapter
from undogmatic.readouts.base import shown_inputs
from undogmatic.readouts.chat import ask
from undogmatic.readouts.logprobs import (
    LogprobsReadout,
    check_examples,
    distribution,
    sent_tokens,
)
from undogmatic.readouts.prompt import FixedWords, Prompt
from undogmatic.records.records import Item, Record, Verdict, entropy_verdict
from undogmatic.records.rubric import NumericScale, Rubric
from undogmatic.stats.uncertainty import (
    Completed,
    completed,
    ends,
    integer_masses,
    longest_digits,
)

MOST_NUMBERS = 1000  # On a longer scale three digits say too little about a number
UNLIKE = 0.25
"""So far apart (total variation) the odds after a digit may lie whether the model wrote it or was
given it."""
Odds = dict[str, float]


class NumberWords(Record):
    """The sentences of one language in which a whole number is asked for."""

    answer: str  # what stands before the number where a base model continues a text
    number: str  # the form of the answer, a format string over `low` and `high`
    reason: str  # what stands before the reason there
    think: str  # asks a chat model for its reason first
    then: str  # asks it for the number afterwards, a format string like `number`


class NumberAdapter(adapter.JudgeAdapter):
    """An adapter for signatures whose output `level` is a whole number between `ends`, asked for by
    `form`; with `reasoning` a reason comes before the number, in demonstrations too.

    `the_reason` is a reason that the model gave before, `the_begun` the digits with which its
    number begins: what is asked for is what follows them.
    """

    def __init__(
        self,
        words: FixedWords,
        form: NumberWords,
        ends: tuple[int, int],
        base: bool,
        reasoning: bool,
    ) -> None:
        low, high = ends
        number = form.number.format(low=low, high=high)
        super().__init__(
            words.model_copy(update={"answer": form.answer, "level": number}), base
        )
        self.form, self.reasoning = form, reasoning
        self.then = {"role": "user", "content": form.then.format(low=low, high=high)}

    def format(
        self, signature: Any, demos: list[Any], inputs: dict[str, Any]
    ) -> adapter.Messages:
        messages = super().format(signature, demos, inputs)
        reason, begun = inputs.get("the_reason"), inputs.get("the_begun") or ""
        if self.base:
            # The text is a part of its own: the number's digits are asked one after another, and it
            # is read once.
            *before, last = (str(message["content"]) for message in messages)
            text = last[: -len(f"{self.words.answer}:")]
            asked = f"{self.words.answer}:{begun}"
            if self.reasoning:
                text = f"{text}{self.form.reason}:"
                asked = "" if reason is None else f" {reason}\n{asked}"
            return [
                {"role": "user", "content": part}
                for part in (*before, text, asked)
                if part
            ]
        # the demonstrations' numbers with the reason and the question that come before them
        if self.reasoning:
            reasons = iter([str(dict(demo).get("rationale") or "") for demo in demos])
            plain, messages = messages, []
            for message in plain:
                if message["role"] == "assistant":
                    messages += [
                        {"role": "assistant", "content": next(reasons)},
                        self.then,
                    ]
                messages.append(message)
            if reason is not None:
                messages += [{"role": "assistant", "content": reason}, self.then]
        return (
            [*messages, {"role": "assistant", "content": begun}] if begun else messages
        )

    def _labels_only(self, signature: Any) -> str:
        return self.form.think if self.reasoning else self.words.level

    def _line(self, signature: Any, inputs: Mapping[str, Any]) -> str:
        line = super()._line(signature, inputs)
        shown = inputs.get("rationale") if self.reasoning else None
        return (
            line
            if shown is None
            else f"{line}\n{self.form.reason}: {' '.join(str(shown).split())}"
        )


class IntegersReadout(LogprobsReadout):
    """Expected value over the whole numbers of the scale.

    Where the tokenizer has a token for every number, one call gives their odds. Where it splits
    numbers into digits, the odds of what follows the likeliest beginnings are asked for, with the
    beginning already written. The mass that falls on anything but a number of the scale, or on a
    beginning that was not followed, is kept as `off_scale`.
    """

    name = "integers"

    def __init__(
        self,
        wordings: dict[str, NumberWords],  # by language
        top: Annotated[
            int, Field(ge=1, le=1000)
        ] = 20,  # log-probabilities to ask for (hosted servers give 20 at most)
        minimum_mass: Annotated[
            float, Field(ge=0, le=1)
        ] = 0.25,  # on the numbers; with less it is a Failure
        look_ahead: Annotated[
            int, Field(ge=0, le=50)
        ] = 10,  # most further calls, for numbers split into tokens
        least: Annotated[
            float, Field(ge=0, le=1)
        ] = 0.01,  # beginnings with less probability are not followed
        reason_tokens: Annotated[
            int, Field(ge=1, le=10_000)
        ] = 60,  # room for the reason (`prompt.reasoning`)
    ) -> None:
        super().__init__(top, minimum_mass)
        self.wordings, self.look_ahead, self.least = wordings, look_ahead, least
        self.reason_tokens = reason_tokens
        self._goes_on: bool | None = None

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        super(LogprobsReadout, self).bind(model, prompt, rubric)
        whole = (
            isinstance(rubric.scale, NumericScale)
            and rubric.minimum.is_integer()
            and rubric.maximum.is_integer()
        )
        if (
            not whole
            or rubric.minimum < 0
            or not 2 <= rubric.maximum - rubric.minimum <= MOST_NUMBERS
        ):
            raise ConfigError(
                f"readout=integers reads whole numbers from 0 up, {MOST_NUMBERS} at most, and"
                f" rubric={rubric.name} has the scale {rubric.scale.span()}. Use readout=logprobs,"
                " which asks for levels, or readout=structured."
            )
        self.low, self.high = int(rubric.minimum), int(rubric.maximum)
        if prompt.language not in self.wordings:
            raise ConfigError(
                f"readout=integers has no wording in {prompt.language!r} (it has:"
                f" {', '.join(self.wordings)}). Add `readout.wordings.{prompt.language}`, or choose"
                " another `prompt=`."
            )
        check_examples(model, prompt, rubric, "number")
        numbers = [str(number) for number in range(self.low, self.high + 1)]
        level = {
            "level": adapter.level(
                numbers, numbers, [float(number) for number in numbers], is_score=True
            )
        }
        about = f"{prompt.definition(rubric)}\n\n{prompt.scale(rubric)}"
        settings = {
            "temperature": 0.0,
            "max_tokens": 1 if model.base else len(str(self.high)),
            "logprobs": True,
        }
        task = about if model.base else prompt.task(rubric)
        self.predict = self.predictor(
            task, level, "rubric", "reason", "begun", **settings, top_logprobs=self.top
        )
        self.given = {} if model.base else {"the_rubric": about}
        given, scale_ends = self.wordings[prompt.language], (self.low, self.high)
        wording = given.model_copy(update={"number": prompt.number(given.number)})
        self.adapter = NumberAdapter(
            prompt.words, wording, scale_ends, model.base, prompt.reasoning
        )

    async def read(self, item: Item) -> Verdict:
        inputs, reason = shown_inputs(item, self.rubric) | self.given, None
        if self.prompt.reasoning:
            words = {
                "max_tokens": self.reason_tokens,
                "logprobs": None,
                "top_logprobs": None,
            }
            prediction = await ask(self.predict, self.adapter, config=words, **inputs)
            reason = inputs["the_reason"] = " ".join(str(prediction.level).split())
            if not reason:
                raise UnparseableAnswer("the reason is empty", "")
        found, calls = await self._numbers(inputs)
        numbers = range(self.low, self.high + 1)
        masses = integer_masses(found.numbers, self.low, self.high)
        likeliest = sorted(
            (found.numbers | found.begun).items(), key=lambda pair: -pair[1]
        )
        levels = distribution(
            [float(number) for number in numbers],
            [masses.get(number, 0.0) for number in numbers],
            self.minimum_mass,
            f"the whole numbers from {self.low} to {self.high}",
            [f"{digits!r} {mass:.2f}" for digits, mass in likeliest],
        )
        return entropy_verdict(
            levels, rationale=reason, details={"look_ahead": float(calls)}
        )

    async def _numbers(self, inputs: Mapping[str, Any]) -> tuple[Completed, int]:
        """Numbers with their probabilities, and how many further calls they took."""
        written, first, known = await self._odds(inputs)
        longest, after, calls = longest_digits(first), dict(known), 0
        if longest > 1 and not self.model.base:
            # a tokenizer that has longer numbers has them all
            longest = len(str(self.high))
        while True:
            found = completed(first, after, self.high, longest)
            open_ = {
                digits: mass
                for digits, mass in found.begun.items()
                if mass >= self.least
            }
            if not open_ or calls >= self.look_ahead:
                return found, calls
            if not self.model.base:
                await self._check_goes_on(written, known, inputs)
            digits = max(open_, key=lambda begun: (open_[begun], begun))
            _, after[digits], _ = await self._odds({**inputs, "the_begun": digits})
            calls += 1

    async def _check_goes_on(
        self, digits: str, known: Mapping[str, Odds], inputs: Mapping[str, Any]
    ) -> None:
        """Raise ConfigError where the server starts a new answer instead of going on with the one
        that has begun: the odds after the digits that the model wrote by itself are known, and must
        come again when they are given.
        """
        if self._goes_on is None and digits in known:
            _, again, _ = await self._odds({**inputs, "the_begun": digits})
            # whatever is neither a digit nor an end is taken as one
            apart: Odds = defaultdict(float)
            for sign, odds in ((1, again), (-1, known[digits])):
                for token, mass in odds.items():
                    apart[
                        token if token.isdigit() else "" if ends(token) else "other"
                    ] += sign * mass
            self._goes_on = 0.5 * sum(map(abs, apart.values())) <= UNLIKE
        if not self._goes_on:
            raise ConfigError(
                f"{self.model.name} splits numbers into digits, and its server does not go on with"
                " an answer that has begun, so the odds of whole numbers cannot be had. Use"
                " readout=logprobs, which asks for levels, or readout=structured."
            )

    async def _odds(
        self, inputs: Mapping[str, Any]
    ) -> tuple[str, Odds, dict[str, Odds]]:
        """The first token of an answer; the probabilities that the model sent for its place; and
        those behind the digits with which the answer begins."""
        prediction = await ask(self.predict, self.adapter, **inputs)
        written, odds, behind = list[str](), list[Odds](), dict[str, Odds]()
        with reading(None):
            for token in sent_tokens(prediction):
                written.append(token["token"] if written else token["token"].strip())
                odds.append(defaultdict(float))
                for other in token["top_logprobs"] or [token]:
                    odds[-1][other["token"]] += min(1.0, math.exp(other["logprob"]))
        for digits, place in zip(itertools.accumulate(written), odds[1:], strict=False):
            if not digits.isdigit():
                break
            behind[digits] = place
        return written[0], odds[0], behind
