"""What a run may spend, counted before it is spent."""

from __future__ import annotations

from collections.abc import Callable

from undogmatic.errors import BudgetExceeded, ConfigError

Note = Callable[[int, float], None]


class Budget:
    """Counts what was spent and refuses what would exceed the limits.

    A call is counted when it is sent, so that concurrent calls cannot overshoot `max_calls`; money is known only after
    the answer, so `max_usd` can be overshot by the calls in flight at that moment. An answer that does not say what it
    took counts as the dearest one so far.

    Attributes:
        note: Is told of every call before it is sent, and of every price, so that a run which is killed goes on with
            what it had left.
    """

    def __init__(self, max_calls: int | None = None, max_usd: float | None = None) -> None:
        self.max_calls, self.max_usd = max_calls, max_usd
        self.calls, self.usd = 0, 0.0
        self.note: Note | None = None
        self._dearest: float | None = None

    def take(self) -> None:
        """Reserve one call. Raises BudgetExceeded."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            raise BudgetExceeded(
                f"`engine.max_calls` is {self.max_calls} and {self.calls} calls were made. "
                "Raise it (engine.max_calls=N, or null for no limit) and rerun: what was judged is kept."
            )
        if self.max_usd is not None and self.usd >= self.max_usd:
            raise BudgetExceeded(
                f"`engine.max_usd` is {self.max_usd} and {self.usd:.4f} USD were spent in {self.calls} calls. "
                "Raise it (engine.max_usd=X, or null for no limit) and rerun: what was judged is kept."
            )
        self.calls += 1
        if self.note is not None:
            self.note(1, 0.0)

    def spend(self, usd: float | None) -> None:
        """Note the price of an answer."""
        if usd is None and self.max_usd is not None:
            if self._dearest is None:
                raise ConfigError(
                    f"`engine.max_usd` is {self.max_usd}, but the price of this model is unknown, so it cannot be "
                    "kept. Set model.price.input and model.price.output (USD per million tokens), or "
                    "engine.max_usd=null."
                )
            usd = self._dearest
        if usd is not None:
            self._dearest = max(usd, self._dearest or 0.0)
            self.usd += usd
            if usd and self.note is not None:
                self.note(0, usd)
