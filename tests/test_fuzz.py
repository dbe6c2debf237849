"""Every door of tests/fuzzing: what went wrong once, and some hundred further cases, the same ones
each time."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.fuzzing import DOORS, door

pytestmark = pytest.mark.slow

MOST = 50
"""Examples of one door that are tried here: of a longer list a spread, of which the benchmark tries
all."""


def _spread(name: str) -> list[tuple[int, Any]]:
    numbered = list(enumerate(door(name).EXAMPLES))
    return numbered[:: 1 + (len(numbered) - 1) // MOST]


EXAMPLES = [
    pytest.param(name, case, id=f"{name}-{n}")
    for name in DOORS
    for n, case in _spread(name)
]


@pytest.mark.parametrize(("name", "case"), EXAMPLES)
def test_what_went_wrong_once_goes_well(name: str, case: Any) -> None:
    door(name).enter(case)


@pytest.mark.parametrize("name", DOORS)
def test_anything_becomes_a_record_or_one_message(name: str) -> None:
    found = door(name)
    tried = given(found.strategy())(found.enter)
    calm = {
        "deadline": None,
        "database": None,
        "suppress_health_check": list(HealthCheck),
    }
    seed(20)(settings(max_examples=getattr(found, "COUNT", 80), **calm)(tried))()
