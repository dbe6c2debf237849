"""Property tests here try the same examples on every run: a statistic that fails by luck teaches
nobody anything."""

import tracemalloc
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import settings

from undogmatic.stats.estimate import Estimate

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

Rng = np.random.Generator
T = TypeVar("T")


@pytest.fixture
def rng() -> Rng:
    """Chance that is the same in every test; a test whose claim is about rare draws may seed its
    own."""
    return np.random.default_rng(0)


def held(truth: float, times: int, draw: Callable[[], Estimate | None]) -> float:
    """The share of so many drawn intervals that hold the truth; those that do not exist are left
    out."""
    found = [one for one in (draw() for _ in range(times)) if one is not None]
    return float(np.mean([one.low <= truth <= one.high for one in found]))


def width(found: Estimate) -> float:
    return found.high - found.low


def sure(found: T | None) -> T:
    """What is there, for type checkers too."""
    assert found is not None
    return found


def refuses(match: str, call: Callable[..., Any], *args: Any, **how: Any) -> None:
    """Asserts that a call raises a ValueError that says this."""
    with pytest.raises(ValueError, match=match):
        call(*args, **how)


def peak_memory(call: Callable[[], Any]) -> tuple[Any, int]:
    """What a call returns, and the most bytes that it held at once."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
