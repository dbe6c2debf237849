"""Judges one item after the other, with a pause between two: for a server that serves people, too."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Annotated

from pydantic import Field

from undogmatic.engine.journal import Journals
from undogmatic.engine.local import LocalEngine
from undogmatic.engine.recipe import Recipe
from undogmatic.records.limits import USUAL, PacedLimits
from undogmatic.records.records import Item, Judgment, Made


class OneByOne(LocalEngine):
    """Judges as `LocalEngine` does, one item at a time.

    Args:
        pause: Seconds after an item before the next is begun.
        limits: What the run may take at most; its keys stand beside `pause` in a config.
    """

    def __init__(
        self, pause: Annotated[float, Field(ge=0)] = 0.5, limits: PacedLimits = USUAL
    ) -> None:
        super().__init__(limits.model_copy(update={"concurrency": 1}))
        self.pause = pause

    async def stream(
        self,
        recipe: Recipe,
        items: Iterable[Item],
        journals: Journals,
        repeats: int = 1,
    ) -> AsyncGenerator[Judgment | Made]:
        """See `LocalEngine.stream`; whoever reads the records waits, and so does the next item."""
        async with aclosing(
            super().stream(recipe, items, journals, repeats)
        ) as records:
            async for record in records:
                yield record
                await asyncio.sleep(self.pause)
