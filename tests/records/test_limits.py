"""The limits of a run: one record, checked where it is made, whose fields are keys of an engine."""

from typing import Any

import pytest
from pydantic import ValidationError

from undogmatic.config.build import build
from undogmatic.config.schema import schema
from undogmatic.engine.batch import NEVER, BatchEngine
from undogmatic.engine.local import LocalEngine, NotingEngine
from undogmatic.errors import ConfigError
from undogmatic.records.limits import USUAL, Limits, PacedLimits

NUMBERS = sorted(PacedLimits.model_fields)
ENGINES = {
    name: f"undogmatic.engine.{name}.{name.capitalize()}Engine"
    for name in ("local", "batch", "ray")
}


def built(engine: str, **keys: Any) -> Any:
    return build({"_target_": ENGINES[engine], **keys}, "engine")


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("slip", [True, False])
def test_true_and_false_are_no_limit_at_any_door(name: str, slip: bool) -> None:
    word = str(slip).lower()
    with pytest.raises(
        ConfigError, match=rf"`engine\.{name}` is {word}; it must be a number"
    ):
        built("local", **{name: slip})
    with pytest.raises(
        ValidationError, match=f"`{name}` is {slip}; it must be a number"
    ):
        PacedLimits(**{name: slip})


def test_the_keys_of_an_engine_make_one_record_and_what_is_not_set_is_as_usual() -> (
    None
):
    engine = built(
        "local", max_usd=2, calls_per_minute=30, concurrency=None, cache=False
    )
    assert engine.limits == PacedLimits(max_usd=2.0, calls_per_minute=30.0)
    assert (engine.budget.max_usd, engine.budget.max_calls, engine.cache) == (
        2.0,
        None,
        False,
    )
    gateway = engine.gateway(None)
    assert gateway.limits is engine.limits and gateway.budget is engine.budget
    assert gateway.pace("a server").rate == pytest.approx(0.5)
    assert (
        built("local").limits
        == LocalEngine().limits
        == NotingEngine([]).limits
        == USUAL
    )
    # nothing that was handed on can be changed afterwards
    with pytest.raises(ValidationError, match="frozen"):
        engine.limits.max_usd = None


def test_batches_have_no_pace_of_calls_and_all_of_a_batch_is_in_flight() -> None:
    engine = built("batch", size=20_000, timeout=5, max_failures=1)
    assert (
        engine.limits
        == BatchEngine(20_000, limits=Limits(timeout=5, max_failures=1)).limits
    )
    assert (engine.limits.concurrency, engine.limits.stop_after) == (20_000, NEVER)
    assert (engine.limits.timeout, engine.limits.max_failures) == (5.0, 1.0)
    for name in PacedLimits.model_fields.keys() - Limits.model_fields.keys():
        with pytest.raises(
            ConfigError, match=rf"`engine\.{name}` is not a known key.*Known: .*ze"
        ):
            built("batch", **{name: 3})


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("timeout", 0, "input should be greater than 0"),
        ("retries", 101, "less than or equal to 100"),
        ("max_failures", 1.5, "less than or equal to 1"),
        ("max_calls", -1, "greater than or equal to 0"),
        ("max_calls", 2.5, "valid integer"),
        ("tokens_per_minute", "many", "valid number"),
        ("stop_afer", 3, "Did you mean `stop_after`"),
        ("limits", {"max_usd": 1}, "not a known key"),
    ],
)
def test_what_is_no_limit_is_refused_by_its_key(
    key: str, value: Any, said: str
) -> None:
    with pytest.raises(ConfigError, match=rf"`engine\.{key}` is .*{said}"):
        built("local", **{key: value})


def test_an_editor_is_told_the_limits_as_keys_of_the_engine_with_what_they_mean() -> (
    None
):
    branches = schema("engine")["allOf"]
    keys = {
        each["if"]["properties"]["_target_"]["const"]: each["then"]["properties"]
        for each in branches
        if "properties" in each["then"]
    }
    for target in ENGINES.values():
        assert keys[target]["max_usd"]["description"] == (
            "Budget of money, or None; needs a known price."
        )
        assert (
            keys[target]["timeout"]["default"] == 60.0 and "limits" not in keys[target]
        )
    assert (
        "concurrency" in keys[ENGINES["local"]]
        and "concurrency" not in keys[ENGINES["batch"]]
    )
