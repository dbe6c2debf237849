"""The space of a search: what Hydra's sweep syntax says of each key, as Optuna's distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from hydra.errors import OverrideParseException

from undogmatic.errors import ConfigError

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

MOST_CHOICES = 10_000
MEASURING = ("dataset", "analysis", "plan", "rubric", "run.limit")
"""Keys that decide, with all below them, what a trial is measured on or by."""
WORDINGS = "rubric.wordings."
"""But these are how the question is put."""


class Space(NamedTuple):
    """`fixed`: the overrides that every trial has; `keys`: what varies, key -> distribution."""

    fixed: list[str]
    keys: dict[str, BaseDistribution]

    @property
    def size(self) -> float:
        """How many different trials there are; infinite where a key has a continuous range."""
        from optuna.distributions import CategoricalDistribution, IntDistribution

        total = 1.0
        for own in self.keys.values():
            if isinstance(own, CategoricalDistribution):
                total *= len(own.choices)
            elif isinstance(own, IntDistribution):
                total *= (own.high - own.low) // own.step + 1
            else:
                return float("inf")
        return total


def read_space(words: Sequence[str], loader: Any) -> Space:
    """The space of these overrides; of a key that is given twice the last word counts.

    Args:
        words: Overrides, sweeps among them: `a,b`, `choice(...)`, `range(low,high,step)` (whole numbers, the end left
            out), `interval(low,high)`, `tag(log,interval(...))`, `int(interval(...))`.
        loader: Hydra's config loader, which knows which keys are groups.
    Raises:
        ConfigError: A word that cannot be read, a range without a value, a key that decides what is measured, or
            nothing that varies.
    """
    fixed: dict[str, str] = {}
    keys: dict[str, BaseDistribution] = {}
    try:
        parsed = OverridesParser.create(config_loader=loader).parse_overrides(list(words))
    except OverrideParseException as error:
        raise ConfigError(f"`{error.override}` cannot be read as an override of a search.") from None
    for override in parsed:
        key = override.get_key_element()
        for earlier in [each for each in (*fixed, *keys) if each.lstrip("+") == key.lstrip("+")]:
            fixed.pop(earlier, None)
            keys.pop(earlier, None)
        if override.is_sweep_override():
            _check_key(key.lstrip("+~"))
            keys[key] = _distribution(key, override)
        else:
            fixed[key] = str(override.input_line)
    if not keys:
        raise ConfigError(
            "hydra/sweeper=optuna searches a space, and nothing varies. Say what does, e.g. "
            "prompt.demo_order=range(0,6) readout.minimum_mass=interval(0.05,0.3), or leave hydra/sweeper=optuna out."
        )
    return Space(list(fixed.values()), keys)


def _check_key(key: str) -> None:
    """Raise ConfigError for a key that decides what trials are measured on or by."""
    if not key.startswith(WORDINGS) and any(f"{key}.".startswith(f"{each}.") for each in MEASURING):
        raise ConfigError(
            f"`{key}` cannot be searched: trials that judge other texts, or are measured by something else, cannot be "
            "compared, and the easiest would win. Search what judges (model, prompt, readout, judge and their keys, "
            "rubric.wordings); to see several side by side, leave hydra/sweeper=optuna out."
        )


def _distribution(key: str, override: Override) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    value = override.value()
    try:
        if isinstance(value, IntervalSweep):
            low, high, log = value.start, value.end, "log" in value.tags
            assert low is not None and high is not None
            if isinstance(low, int) and isinstance(high, int) and "int" in value.tags:
                return IntDistribution(low, high, log=log)
            return FloatDistribution(float(low), float(high), log=log)
        if isinstance(value, RangeSweep) and not value.shuffle:
            start, stop, step = value.start, value.stop, value.step
            if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int) and step > 0:
                return IntDistribution(start, start + ((stop - 1 - start) // step) * step, step=step)
        choices = list(override.sweep_string_iterator())
        if not 1 <= len(choices) <= MOST_CHOICES:
            raise ValueError(f"it has {len(choices):,} values")
        return CategoricalDistribution(choices)
    except ValueError as error:
        raise ConfigError(f"`{key}` is {override.input_line!r}, which is no range to search: {error}.") from None


def override(key: str, value: Any) -> str:
    """A value of the space as an override of a job."""
    return f"{key}={value}"


def typed(params: Mapping[str, Any]) -> list[str]:
    """A point of the space as overrides."""
    return [override(key, value) for key, value in params.items()]
