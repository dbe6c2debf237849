"""A judge as a step: from what it predicts for one item to the records that the rest of the program reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from undogmatic.engine.step import as_failure, attempt
from undogmatic.errors import ModelError
from undogmatic.judges.base import Judge
from undogmatic.records.records import OVERALL, Call, Cost, Failure, Item, Judgment, Provenance, Verdict

FREE = Cost(usd=0.0)


class JudgeStep:
    """A judge of a run, under the name by which its judgments are known.

    Args:
        judge: It.
        provenance: Where its judgments come from.
        name: The judge's own, unless two judges of the run share it.
        elsewise: The same judge asking in the language of this code, or None where it has no words in it.
    """

    def __init__(
        self,
        judge: Judge,
        provenance: Provenance,
        name: str | None = None,
        elsewise: Callable[[str], JudgeStep | None] = lambda code: None,
    ) -> None:
        self.judge, self.provenance = judge, provenance
        self.name = name if name is not None else judge.name
        self._elsewise, self._by_language = elsewise, dict[str, JudgeStep]()

    @property
    def criteria(self) -> tuple[str, ...]:
        """What it judges of an item."""
        return self.judge.criteria

    async def process(self, item: Item, repeat: int = 0) -> list[Judgment]:
        """One judgment per criterion. Cost and exchange are the first one's: they were made once for all."""
        if (asked := self.for_item(item)) is not self:
            return await asked.process(item, repeat)
        done = await attempt(self._outcomes(item), repeat)
        found = dict.fromkeys(self.criteria, done.result) if isinstance(done.result, Failure) else done.result
        return self._judgments(item, repeat, found, done.cost, done.calls)

    def for_item(self, item: Item) -> JudgeStep:
        """Itself, or the same judge asking in the language of the item, where the item has one."""
        code = item.language
        if code is None:
            return self
        if code not in self._by_language:
            self._by_language[code] = self._elsewise(code) or self
        return self._by_language[code]

    def unmade(self, item: Item, failure: Failure, repeat: int) -> list[Judgment]:
        """The judgments of an item that a step could not make: failed for that step's reason."""
        return self._judgments(item, repeat, dict.fromkeys(self.criteria, failure), FREE)

    def _judgments(
        self, item: Item, repeat: int, found: Mapping[str, Verdict | Failure], cost: Cost, calls: tuple[Call, ...] = ()
    ) -> list[Judgment]:
        return [
            Judgment(
                item_id=item.id,
                repeat=repeat,
                judge=self.name,
                criterion=criterion,
                outcome=found[criterion],
                cost=FREE if n else cost,
                provenance=self.provenance,
                calls=() if n else calls,
            )
            for n, criterion in enumerate(self.criteria)
        ]

    async def _outcomes(self, item: Item) -> dict[str, Verdict | Failure]:
        prediction = await self.judge.acall(item=item.blind())
        found: Mapping[str, Verdict | ModelError] = (
            prediction.verdicts if "verdicts" in prediction else {OVERALL: prediction.verdict}
        )
        return {criterion: _outcome(found[criterion]) for criterion in self.criteria}


def _outcome(found: Verdict | ModelError) -> Verdict | Failure:
    return as_failure(found) if isinstance(found, ModelError) else found
