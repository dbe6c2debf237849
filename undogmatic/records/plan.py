"""Holds what a run is to show, as it is stated before anything is judged."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from undogmatic.records.records import Record


class Hypothesis(Record):
    """`plan.hypotheses[n]`: a number of the analysis that has an interval, and where it must lie;
    or a p-value."""

    name: str = Field(min_length=1, max_length=100)
    test: str = Field(min_length=1, max_length=250)
    says: str = ""
    above: float | None = None
    below: float | None = None
    differs: float | None = None

    @model_validator(mode="after")
    def _one_bound(self) -> Hypothesis:
        if [self.above, self.below, self.differs].count(None) < 2:
            raise ValueError(
                "give one of above, below and differs; none where `test` is itself a p-value"
            )
        return self

    @property
    def null(self) -> float | None:
        """The bound; None where `test` is itself a p-value."""
        return next(
            (
                bound
                for bound in (self.above, self.below, self.differs)
                if bound is not None
            ),
            None,
        )

    @property
    def expects(self) -> str:
        sign = ">" if self.above is not None else "<" if self.below is not None else "≠"
        return "" if self.null is None else f"{sign} {self.null:g}"


def _named_apart(hypotheses: tuple[Hypothesis, ...]) -> tuple[Hypothesis, ...]:
    names = [each.name for each in hypotheses]
    # Hypotheses of a plan are corrected as one family; one that counts twice would be
    # corrected wrongly.
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"two hypotheses are called {twice!r}")
    return hypotheses


class Plan(Record):
    """`plan.*`: what is to be shown, stated before anything is judged."""

    hypotheses: Annotated[tuple[Hypothesis, ...], AfterValidator(_named_apart)] = Field(
        min_length=1, max_length=100
    )
    family: str = Field(default="main", max_length=100)
    alpha: float = Field(default=0.05, gt=0, lt=1)
