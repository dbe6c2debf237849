"""The relevance margin of a verdict: how large a difference must be to matter."""

from __future__ import annotations

from typing import Literal, NamedTuple

from undogmatic.errors import ConfigError
from undogmatic.records.rubric import Rubric

SHARE = 0.1
"""Of the scale: what matters where neither rubric nor analysis says it. Claims of a difference name it; claims that
there is none are not made with it (docs/verdicts.md)."""


class Margin(NamedTuple):
    """`value` in score units; `source` says who set it: the analysis, the rubric, or nobody ("default").

    `usable` is False for 0 (nothing is equal then) and for a margin as wide as the scale (nothing differs then).
    """

    value: float
    source: Literal["analysis", "rubric", "default"]
    span: float

    @property
    def equivalence(self) -> bool:
        """Whether it allows to say that there is no difference that matters."""
        return self.source != "default" and 0 < self.value < self.span

    @property
    def superiority(self) -> bool:
        """Whether it allows to say that there is one."""
        return self.value < self.span

    def allows(self, outcome: str) -> bool:
        """Whether it allows to say this outcome of `stats.claims`."""
        return self.equivalence if outcome == "within" else self.superiority


def margin_of(rubric: Rubric, own: float | None = None) -> Margin:
    """The margin that counts: the analysis' own (`analysis.margin`), else the rubric's, else SHARE of the scale.

    Raises:
        ConfigError: The analysis' own is negative (NaN is refused where configs are read).
    """
    if own is not None and not own >= 0:
        raise ConfigError(f"`analysis.margin` is {own}; a margin is 0 or more, in the units of rubric={rubric.name}.")
    span = rubric.maximum - rubric.minimum
    if own is not None:
        return Margin(own, "analysis", span)
    if rubric.margin is not None:
        return Margin(rubric.margin, "rubric", span)
    return Margin(SHARE * span, "default", span)
