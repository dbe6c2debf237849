"""The models of a judge that asks more than one, as the one model that the engine connects and closes."""

from __future__ import annotations

from collections.abc import Sequence

from undogmatic.models.base import Model
from undogmatic.models.calls import Gateway


class Nobody(Model):
    """Stands for the model of a run that asks none.

    Args:
        name: What is said in its place.
    """

    readouts = ()

    def __init__(self, name: str) -> None:
        self.name = name


class SeveralModels(Model):
    """Connects and closes them together; the one that can least in parallel bounds the items in flight.

    Args:
        models: At least one; the run's own comes first, where it is asked.
    """

    readouts = ()

    def __init__(self, models: Sequence[Model]) -> None:
        self.models = tuple(models)
        self.name = " + ".join(model.name for model in self.models)
        limits = [m.max_concurrency for m in self.models if m.max_concurrency is not None]
        self.max_concurrency = min(limits) if limits else None

    def asked(self) -> Model:
        return self.models[0]

    def connect(self, gateway: Gateway) -> None:
        for model in self.models:
            model.connect(gateway)

    async def close(self) -> None:
        for model in self.models:
            await model.close()
