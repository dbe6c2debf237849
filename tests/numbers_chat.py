"""A model whose odds over whole numbers are known, and that writes them as one token or digit by digit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.conftest import token
from tests.stats.test_uncertainty import split
from undogmatic.models.base import Model
from undogmatic.models.calls import Reply
from undogmatic.models.hosted import Tokens, settled


@dataclass(eq=False)
class NumbersChat(Model):
    """Args:
    odds: Last user text -> probability by whole number; what is missing to 1 falls on a word.
    digits: Whether each digit is a token of its own.
    goes_on: Whether a begun answer is continued; else a new one begins.
    base: Whether it continues a text.
    reason: What it says when it is asked for words.
    """

    odds: Callable[[str], dict[int, float]]
    digits: bool = False
    goes_on: bool = True
    base: bool = False
    reason: str = "It says so."
    requests: list[list[dict[str, str]]] = field(default_factory=list)
    name = "numbers"
    readouts = ("logprobs", "structured")

    async def complete(self, request: Any) -> Any:
        messages = [{"role": m.role, "content": m.text or ""} for m in request.messages]
        if request.system is not None:
            messages.insert(0, {"role": "system", "content": request.system})

        async def send() -> Reply:
            self.requests.append(messages)
            return Reply("ok", input_tokens=10, output_tokens=1)

        await self.gateway.call(self.name, {"messages": messages, "config": repr(request.config)}, send)
        path = self._path(messages, request.config.max_tokens) if request.config.logprobs else []
        logprobs = tuple(token({each: math.log(mass) for each, mass in odds.items() if mass > 0}) for _, odds in path)
        text = "".join(chosen for chosen, _ in path) if path else self.reason
        return settled({}, self.name, text, Tokens(10, 1), logprobs=logprobs or None)

    def _path(self, messages: list[dict[str, str]], most: int) -> list[tuple[str, dict[str, float]]]:
        said = messages[-1]["content"] if messages[-1]["role"] == "assistant" else ""
        asked = next(m["content"] for m in reversed(messages) if m["role"] == "user")
        if self.base:
            asked, said = "".join(m["content"] for m in messages), messages[-1]["content"].rpartition(":")[2]
        odds = self.odds(asked)
        word = {"none": max(1e-9, 1 - sum(odds.values()))}
        if not self.digits:
            first = {str(number): mass for number, mass in odds.items()} | word
            return [(max(first, key=first.__getitem__), first)]
        first, after = split(odds)
        digits = said if self.goes_on else ""
        path = []
        while len(path) < most:
            here = (first | word if not digits else after.get(digits)) or {"\n": 1.0}
            path.append((max(here, key=here.__getitem__), here))
            if not path[-1][0].isdigit():
                break
            digits += path[-1][0]
        return path
