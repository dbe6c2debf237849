"""Defines what matters where nobody says it: the one margin that is usual, in units of the scale.

A rubric (`margin:`), an analysis (`analysis.margin`) or a check (`--margin`) states its own.
Without one, claims of a difference name the usual margin; that there is no difference is never
claimed with it, as nobody has said that so much does not matter.
"""

# Sentences call it "a tenth of the scale"; a test names them to whoever changes it.
SHARE = 0.1
"""The usual margin as a share of the scale: differences up to it do not matter."""

OF_GRADES = 0.5
"""The usual margin of grades with names, in steps: two neighbouring grades are not the same."""


def usual(span: float) -> float:
    """Say the usual margin of a scale of this width, in units of the scale."""
    return SHARE * span
