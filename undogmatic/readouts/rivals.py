"""Asks the models that a rubric names as rivals, fitted elsewhere to the surface of texts, what they say of texts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from undogmatic.config.build import build
from undogmatic.errors import ConfigError
from undogmatic.models.base import Model, Rates
from undogmatic.readouts.chat import finished
from undogmatic.records.records import text_mark


class Rivals:
    """The rivals of a rubric, built when they are first needed.

    Args:
        names: Dotted names of the models (`Rubric.rivals`).
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)

    def check(self) -> None:
        """Raise ConfigError where `rubric.rivals` names what is no model, or one that does not rate texts."""
        for name in self._names:
            _rater(name)

    def __call__(self, texts: Sequence[str]) -> Callable[[Sequence[str]], NDArray[np.float64]] | None:
        """Texts to what the models say of them, shape (n_texts, n_models); None without any that saw none of `texts`
        when they were fitted."""
        marks = {text_mark(text) for text in texts} if self._names else set()
        raters = [_rater(name) for name in self._names]
        fresh = [rater for rater in raters if isinstance(rater, Model) and not marks & rater.fitted_on]

        async def ask(read: Sequence[str]) -> list[list[float]]:
            return [[(await rater.rate(text))[0] for rater in fresh] for text in read]

        return (lambda read: np.array(finished(ask(read)))) if fresh else None


@functools.lru_cache
def _rater(name: str) -> Rates:
    model = build({"_target_": name}, "rubric.rivals.model")
    if not isinstance(model, Rates):
        raise ConfigError(f"`rubric.rivals` names {name}, which does not rate texts itself (readout rules).")
    return model
