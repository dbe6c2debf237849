"""Defines what a step is: items go in, records come out. It makes items from an item, or is a judge
and judges it.

A step of one's own is a subclass of `Step` with `make`, found like a judge: `steps: [halve]` in a
config is conf/step/halve.yaml, whose `_target_` is the class.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import dspy

from undogmatic.errors import DataError, JudgeFault, ModelError, UndogmaticError
from undogmatic.judges.base import Judge, ways
from undogmatic.models.base import Model
from undogmatic.models.calls import recording, rollout
from undogmatic.records.records import (
    OVERALL,
    Asking,
    Cost,
    Failure,
    Item,
    Items,
    Judgment,
    Made,
    Provenance,
    Verdict,
)
from undogmatic.safety.outside import without_halves

if TYPE_CHECKING:
    from undogmatic.runs.outcome import Asked

T = TypeVar("T")
FREE = Cost(usd=0.0)
AGAIN = 1_000_000
"""Added to the number of the repeat where an item asks the same question once more, so that no
cached answer to the first is taken for one to the second."""


class Step:
    """Base of the steps that make items from items.

    Attributes:
        name: Its name in the run, and that of its journal steps/<name>.jsonl.
        model: The model it asks, if any: `def __init__(self, model: Model)` is given the run's own,
            or the one that its config names; `models: Sequence[Model]` all that its config names.
        models: All models that it asks.
    """

    name = "step"
    model: Model | None = None
    models: Sequence[Model] = ()
    criteria = (OVERALL,)

    async def make(self, item: Item) -> Sequence[Item]:
        """The items made from this one, with ids that no other item of the run has. Raises
        ModelError."""
        raise NotImplementedError

    def stages(self) -> Sequence[Step]:
        """What is run for it, one after the other. A step that first divides an item into several,
        and then asks for each of them, is two stages: so one may fail, or be done already, without
        the others."""
        return (self,)

    def maker(self, item: Item) -> str:
        """What the items made of this one name as their maker: the step, and the model if it asks
        one."""
        return self.name if self.model is None else f"{self.name} by {self.model.name}"

    async def process(self, item: Item, repeat: int = 0) -> Sequence[Made]:
        """Make the items of one item. Raises DataError where two of them bear one id."""

        async def made() -> Items:
            items = await self.make(item)
            ids = [one.id for one in items]
            if twice := next((one for one in ids if ids.count(one) > 1), None):
                raise DataError(
                    f"step {self.name!r} made two items {twice!r} of item {item.id!r}; ids must"
                    " differ."
                )
            origin = {"parent": item.id, "maker": self.maker(item), "place": item.place}
            return Items(items=tuple(one.model_copy(update=origin) for one in items))

        outcome, took = await attempt(made(), repeat)
        return [
            Made(
                item_id=item.id, repeat=repeat, step=self.name, outcome=outcome, **took
            )
        ]


async def attempt(
    work: Awaitable[T], repeat: int
) -> tuple[T | Failure, dict[str, Any]]:
    """Await one item's work with its calls noted; what came of it, and what it took: its `cost` and
    `calls`.

    This is the last door: a ModelError becomes a Failure, and so does any exception that is none of
    ours. What is wrong with the whole run (BudgetExceeded, ConfigError, DataError) passes. Money is
    None where a made call has no price.
    """
    clock = time.perf_counter()
    # DSPy's trace is for optimisers; left on, it keeps the last 10,000 texts in memory.
    with recording() as calls, rollout(repeat), dspy.context(trace=None):
        try:
            result: T | Failure = await work
        except Exception as error:  # one item must not lose a run
            # What is wrong with the whole run is wrong with every item: noted as a
            # failure of each, the run would go on and come to nothing.
            if isinstance(error, UndogmaticError) and not isinstance(error, ModelError):
                raise
            result = as_failure(error)
    made = [call for call in calls if not call.cached]
    prices = [call.usd for call in made if call.usd is not None]
    cost = Cost(
        calls=sum(call.attempts for call in made),
        cached=len(calls) - len(made),
        input_tokens=sum(call.input_tokens for call in made),
        output_tokens=sum(call.output_tokens for call in made),
        # Without the price of one call the sum of the others would be told as what all
        # of them cost.
        usd=float(sum(prices)) if len(prices) == len(made) else None,
        seconds=time.perf_counter() - clock,
    )
    return result, {"cost": cost, "calls": tuple(calls)}


def as_failure(error: Exception) -> Failure:
    """An answer that could not be had, as the record of it: of an exception that is none of ours,
    the place in the program (in a library, who called it) where it arose."""
    if not isinstance(error, ModelError):
        frames = traceback.extract_tb(error.__traceback__)
        ours = [
            frame
            for frame in frames
            if "site-packages" not in frame.filename and frame.filename != __file__
        ]
        where = (
            f" in {(ours or frames)[-1].filename}:{(ours or frames)[-1].lineno}"
            if frames
            else ""
        )
        said = " ".join(str(error).split())[:300]
        error = JudgeFault(f"{type(error).__name__}{': ' if said else ''}{said}{where}")
    raw = None if error.raw is None else without_halves(str(error.raw))
    message = without_halves(str(error))
    return Failure(reason=error.kind, message=message, raw=raw)  # type: ignore[arg-type]


class JudgeStep:
    """A judge of a run, under the name by which its judgments are known: its own, unless two judges
    share it. `elsewise` gives the same judge asking in the language of a code, or in another way,
    or None where it has no words for that. `back` puts a verdict on the scale of the run's rubric,
    where the judge was asked with another.
    """

    def __init__(
        self,
        judge: Judge,
        provenance: Provenance,
        name: str | None = None,
        elsewise: Callable[
            [str | None, Asking | None], JudgeStep | None
        ] = lambda *other: None,
        back: Callable[[Verdict], Verdict] = lambda verdict: verdict,
    ) -> None:
        self.judge, self.provenance, self.criteria = judge, provenance, judge.criteria
        self.name = name if name is not None else judge.name
        self._elsewise, self._back = elsewise, back
        self._others = dict[tuple[str | None, str], JudgeStep | None]()

    async def process(self, item: Item, repeat: int = 0) -> list[Judgment]:
        """One judgment per criterion. Cost and exchange are the first one's: they were made once
        for all."""
        if (asked := self.for_item(item)) is not self:
            return await asked.process(item, repeat)

        async def outcomes() -> dict[str, Verdict | Failure]:
            prediction = await self.judge.acall(item=item.blind())
            said = (
                prediction.verdicts
                if "verdicts" in prediction
                else {OVERALL: prediction.verdict}
            )
            return {
                criterion: (
                    as_failure(said[criterion])
                    if isinstance(said[criterion], ModelError)
                    else self._back(said[criterion])
                )
                for criterion in self.criteria
            }

        again = item.asking is not None and item.asking.way == "again"
        result, took = await attempt(outcomes(), repeat + AGAIN if again else repeat)
        return self.judgments(item, repeat, result, **took)

    def ways(self, name: str = "") -> tuple[Asked, ...]:
        """The ways in which the judge asks, each once, under the `name` that it has in the run."""
        return ways(self.judge.readouts(), name)

    def for_item(self, item: Item) -> JudgeStep:
        """Itself, or the same judge asking in the language of the item, or in the way that the item
        names, where it can."""
        return self._other(item) or self

    def can_ask(self, item: Item) -> bool:
        """Whether it can be asked in the way that the item names, if any."""
        return item.asking is None or self._other(item) is not None

    def _other(self, item: Item) -> JudgeStep | None:
        if item.language is None and item.asking is None:
            return None
        way = "" if item.asking is None else item.asking.model_dump_json()
        other = (item.language, way)
        if other not in self._others:
            self._others[other] = self._elsewise(item.language, item.asking)
        return self._others[other]

    def judgments(
        self,
        item: Item,
        repeat: int,
        result: Mapping[str, Verdict | Failure] | Failure,
        **took: Any,
    ) -> list[Judgment]:
        """One judgment per criterion of an item that was judged, or that could not be."""
        judgments = []
        for n, criterion in enumerate(self.criteria):
            # What was asked once for all criteria is paid once.
            costs = {"cost": FREE} if n else {"cost": FREE} | took
            outcome = result if isinstance(result, Failure) else result[criterion]
            judgments.append(
                Judgment(
                    item_id=item.id,
                    repeat=repeat,
                    judge=self.name,
                    criterion=criterion,
                    outcome=outcome,
                    provenance=self.provenance,
                    **costs,
                )
            )
        return judgments


Processes = Step | JudgeStep
"""What the engine runs: an item is done when all `criteria` have a record of the item, step,
criterion and repeat."""
