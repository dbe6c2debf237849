"""How a whole number is asked for: the adapter's text with a reason before the number, or a number that has begun."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from undogmatic.readouts.adapter import JudgeAdapter, Messages
from undogmatic.readouts.prompts import Words
from undogmatic.records.records import Record

HELPERS = ("rubric", "reason", "begun")


class NumberWords(Record):
    """The sentences of one language in which a whole number is asked for.

    Attributes:
        answer: What stands before the number where a base model continues a text.
        number: The form of the answer, a format string over `low` and `high`.
        reason: What stands before the reason there.
        think: Asks a chat model for its reason first.
        then: Asks it for the number afterwards, a format string like `number`.
    """

    answer: str
    number: str
    reason: str
    think: str
    then: str


class NumberAdapter(JudgeAdapter):
    """An adapter for signatures whose output `level` is a whole number.

    `the_reason` is a reason that the model gave before, `the_begun` the digits with which its number begins: what is
    asked for is what follows them.

    Args:
        words: The fixed sentences of the language.
        own: Those of this form.
        ends: The lowest and the highest number.
        base: Whether the model continues a text.
        reasoning: Whether a reason comes before the number, in demonstrations too.
    """

    def __init__(self, words: Words, own: NumberWords, ends: tuple[int, int], base: bool, reasoning: bool) -> None:
        low, high = ends
        number = own.number.format(low=low, high=high)
        super().__init__(words.model_copy(update={"answer": own.answer, "level": number}), base)
        self.own, self.reasoning = own, reasoning
        self.then = own.then.format(low=low, high=high)

    def format(self, signature: Any, demos: list[Any], inputs: dict[str, Any]) -> Messages:
        messages = super().format(signature, demos, inputs)
        reason, begun = inputs.get("the_reason"), inputs.get("the_begun") or ""
        if self.base:
            # The text is a part of its own: the number's digits are asked one after another, and it is read once.
            *before, last = (str(message["content"]) for message in messages)
            text = last[: -len(f"{self.words.answer}:")]
            asked = f"{self.words.answer}:{begun}"
            if self.reasoning:
                text = f"{text}{self.own.reason}:"
                asked = "" if reason is None else f" {reason}\n{asked}"
            return [{"role": "user", "content": part} for part in (*before, text, asked) if part]
        if self.reasoning:
            messages = self._reasoned(messages, [dict(demo) for demo in demos])
            if reason is not None:
                messages += [{"role": "assistant", "content": reason}, {"role": "user", "content": self.then}]
        return [*messages, {"role": "assistant", "content": begun}] if begun else messages

    def _labels_only(self, signature: Any) -> str:
        return self.own.think if self.reasoning else self.words.level

    def _line(self, signature: Any, inputs: Mapping[str, Any]) -> str:
        line = super()._line(signature, inputs)
        shown = inputs.get("rationale") if self.reasoning else None
        return line if shown is None else f"{line}\n{self.own.reason}: {' '.join(str(shown).split())}"

    def _reasoned(self, messages: Messages, demos: list[dict[str, Any]]) -> Messages:
        """The demonstrations' numbers with the reason and the question that come before them."""
        reasons = iter([str(demo.get("rationale") or "") for demo in demos])
        found: Messages = []
        for message in messages:
            if message["role"] == "assistant":
                found += [{"role": "assistant", "content": next(reasons)}, {"role": "user", "content": self.then}]
            found.append(message)
        return found
