"""Holds what a run may take at most: calls, money, time, speed and failures.

The keys stand under `engine.` in a config. They are checked once, where the config is read, and the
record is handed on whole: to the gateway, the budget, the pace of each server, and Ray's workers.
"""

from typing import Annotated, Any

from pydantic import Field, model_validator

from undogmatic.records.records import Flat

LARGEST_SEED = 2**32 - 1  # What every generator of random numbers takes


class Limits(Flat):
    """What holds for every engine that asks a model.

    Attributes:
        timeout: Seconds for one attempt of one call.
        retries: Further attempts after 408, 429, 5xx, a reset connection or a timeout.
        backoff: Seconds before the first retry; it doubles. A longer `Retry-After` wins.
        max_calls: Budget of calls, or None.
        max_usd: Budget of money, or None; needs a known price.
        max_failures: The share of judgments that may fail; with more the run ends with status 3,
            and its report says that the others are no verdict on the judge.
    """

    timeout: Annotated[float, Field(gt=0, le=86_400)] = 60.0
    retries: Annotated[int, Field(ge=0, le=100)] = 4
    backoff: Annotated[float, Field(ge=0, le=3600)] = 0.5
    max_calls: Annotated[int, Field(ge=0)] | None = None
    max_usd: Annotated[float, Field(ge=0)] | None = None
    max_failures: Annotated[float, Field(ge=0, le=1)] = 0.2

    @model_validator(mode="before")
    @classmethod
    def _no_booleans(cls, values: Any) -> Any:
        """Refuse true and false: Python counts them as 1 and 0, so that a slip would set a limit
        that nobody wanted."""
        for name, value in values.items() if isinstance(values, dict) else ():
            if isinstance(value, bool):
                raise ValueError(f"`{name}` is {value}; it must be a number")
        return values


class PacedLimits(Limits):
    """What holds where calls are sent one by one, and not in a provider's batches.

    Attributes:
        concurrency: Items in flight, or None to find how many the servers take; a model that can
            use fewer (an embedded one) lowers it.
        calls_per_minute, tokens_per_minute: What each server is asked at most, or None; a lower
            limit is found.
        stop_after: So many items in a row that fail for want of a server end the run.
    """

    concurrency: Annotated[int, Field(ge=1, le=10_000)] | None = None
    calls_per_minute: Annotated[float, Field(gt=0)] | None = None
    tokens_per_minute: Annotated[float, Field(gt=0)] | None = None
    stop_after: Annotated[int, Field(ge=1, le=1_000_000)] = 5


USUAL = PacedLimits()
"""The limits where nobody set any."""
INSTRUMENT_TEXTS = 60
"""So many texts are drawn for an instrument test where nobody says how many."""
