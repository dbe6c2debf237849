"""Derives the identity of a module, by which a resumed run is known again, from its constructor's arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import FunctionType, NoneType
from typing import Any, Protocol, Self, runtime_checkable

import dspy
import numpy as np
from pydantic import BaseModel

from undogmatic.models.base import Model
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.rubric import Rubric

DEEPEST = 6
"""Levels of an argument that is an object of a class of one's own; what lies deeper counts by its type."""


class Unit(dspy.Module):
    """A DSPy module that knows what it was constructed with: nobody can forget an argument that changes its answers.

    Attributes:
        contents: What stands behind an argument that only names it, such as a file or an earlier run, by the argument's
            name. In the identity it takes the argument's place.
    """

    contents: Mapping[str, Any] = {}

    def __new__(cls, *args: Any, **options: Any) -> Self:
        made = super().__new__(cls)
        bound = inspect.signature(cls.__init__).bind_partial(made, *args, **options)  # a copy is made without any
        bound.apply_defaults()
        made._arguments = {name: _plain(value) for name, value in list(bound.arguments.items())[1:]}
        return made

    def argument(self, name: str) -> Any:
        """What it was constructed with under this name; None where it knows no such argument."""
        inside = [value for value in self._arguments.values() if isinstance(value, dict)]  # passed on as **options
        return next((each[name] for each in (vars(self), self._arguments, *inside) if name in each), None)

    def identity(self) -> dict[str, Any]:
        """What determines its answers, as plain data: its class and its arguments. Predictors inside it count apart."""
        kind = f"{type(self).__module__}.{type(self).__qualname__}"
        return {"class": kind, "arguments": self._arguments | dict(self.contents)}


@runtime_checkable
class Identified(Protocol):
    """What says by itself what determines its answers, as a Unit does."""

    def identity(self) -> dict[str, Any]: ...


_FORMS: tuple[tuple[Any, Callable[[Any, int], Any]], ...] = (
    ((bool, int, float, str, NoneType), lambda value, depth: value),
    ((Rubric, Prompt), lambda value, depth: None),  # they have hashes of their own in the identity of a run
    (Identified, lambda value, depth: value.identity()),
    (Model, lambda value, depth: value.name),
    (BaseModel, lambda value, depth: value.model_dump(mode="json")),
    ((type, FunctionType), lambda value, depth: f"{value.__module__}.{value.__qualname__}"),
    ((np.ndarray, np.generic), lambda value, depth: value.tolist()),
    (Mapping, lambda value, depth: {str(key): _plain(each, depth) for key, each in value.items()}),
    ((list, tuple), lambda value, depth: [_plain(each, depth) for each in value]),
)


def _plain(value: Any, depth: int = DEEPEST) -> Any:
    """An argument as JSON can hold it; an object of a class of one's own by its class and what is in it."""
    for kinds, form in _FORMS:
        if isinstance(value, kinds):
            return form(value, depth)
    inside = getattr(value, "__dict__", {}) if depth else {}
    return {"class": type(value).__qualname__} | {name: _plain(each, depth - 1) for name, each in inside.items()}
