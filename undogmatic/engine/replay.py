"""Is this the run that an earlier version began? Some of its items are judged again, by the answers in its journal."""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from undogmatic.engine.journal import Journal
from undogmatic.engine.judging import JudgeStep
from undogmatic.engine.recipe import Parts
from undogmatic.errors import ConfigError
from undogmatic.models.calls import Gateway, Reply
from undogmatic.records.records import Call, Item, Judgment, Verdict, digest
from undogmatic.runs.folder import JOURNAL

ITEMS = 3
NEAR = 1e-9


class Replay(NamedTuple):
    """How many judgments were repeated, and how one differs, if one does."""

    judged: int
    difference: str | None


_FENCE = re.compile(r"<</?[a-z]+-[0-9a-f]{8,16}(?=>>)")


class NotedReplies(Gateway):
    """Answers a request as the journal notes that it was answered, and asks nobody.

    Args:
        calls: The noted exchanges.
    """

    def __init__(self, calls: Sequence[Call]) -> None:
        super().__init__()
        self._noted: dict[str, deque[Call]] = defaultdict(deque)
        for call in calls:
            self._noted[_key(call.model, call.request)].append(call)

    async def call(
        self,
        model: str,
        request: dict[str, Any],
        send: Callable[[], Awaitable[Reply]],
        timed: bool = True,
        check: Callable[[Any], object] | None = None,
    ) -> Reply:
        """The noted answer. Raises ConfigError where there is none (left)."""
        noted = self._noted[_key(model, request)]
        if not noted:
            raise ConfigError(f"{model} would be asked what it was not asked there")
        call = noted.popleft()
        return Reply(call.reply, call.input_tokens, call.output_tokens, call.usd)


def _key(model: str, request: dict[str, Any]) -> str:
    """By which a request is known again: 100 and 100.0 are one number in JSON, and fences had other names."""
    return digest(json.loads(_FENCE.sub("<<", json.dumps([model, request])), parse_int=float))


def replay(parts: Parts, items: Sequence[Item], folder: Path) -> Replay:
    """Judge up to ITEMS items of the run in `folder` again; a model that makes no calls is simply asked again."""
    if parts.steps or len(parts.judges) > 1:
        return Replay(0, "it has one judge and no steps")
    by_id = {item.id: item for item in items}
    judged = [
        judgment
        for judgment in Journal(folder / JOURNAL, Judgment).done.values()
        if isinstance(judgment.outcome, Verdict)
        and judgment.item_id in by_id
        and not any(call.error is not None for call in judgment.calls)
    ][:ITEMS]
    for judgment in judged:
        difference = asyncio.run(_difference(parts, by_id[judgment.item_id], judgment))
        if difference is not None:
            return Replay(len(judged), f"item {judgment.item_id!r} is judged otherwise here ({difference})")
    return Replay(len(judged), None)


async def _difference(parts: Parts, item: Item, there: Judgment) -> str | None:
    judge: JudgeStep = parts.judges[0]
    parts.model.connect(NotedReplies(there.calls))
    try:
        with parts.asking():
            here = (await judge.process(item, there.repeat))[0]
    except ConfigError as error:
        return str(error)
    finally:
        await parts.model.close()
    if (there.judge, there.provenance.model) != (here.judge, here.provenance.model):
        return f"{there.judge} of {there.provenance.model} there, {here.judge} of {here.provenance.model} here"
    old, new = there.outcome, here.outcome
    assert isinstance(old, Verdict)
    if not isinstance(new, Verdict):
        return f"score {old.score} there, {new.reason} here: {new.message}"
    same = (
        old.category == new.category if old.score is None or new.score is None else abs(old.score - new.score) <= NEAR
    )
    return None if same else f"score {old.score} there, {new.score} here"
