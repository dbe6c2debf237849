"""Draws items for labelling: at random, or evenly from what a column says of them, such as a
judge's verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from undogmatic.errors import ConfigError
from undogmatic.safety.outside import brief
from undogmatic.stats.checks import Rng

if TYPE_CHECKING:
    from undogmatic.review.page import Entry

MOST_VALUES = 20
"""Most different values of a column that items are drawn from: of more there would be one or two
items each."""


def drawn(
    entries: Sequence[Entry], file: str, n: int, by: str | None = None, seed: int = 0
) -> list[Entry]:
    """The `n` items of a file that are drawn at random, or evenly from the values of the column
    `by`. Raises ConfigError."""
    if not 1 <= n <= len(entries):
        raise ConfigError(
            f"--random is {n}; {file} has {len(entries)} items to draw from."
        )
    rng = np.random.default_rng(seed)
    if by is None:
        return [entries[place] for place in rng.permutation(len(entries))[:n]]
    values = [entry.by for entry in entries]
    if len(set(values)) > MOST_VALUES:
        raise ConfigError(
            f"--by is {brief(by)}, which has {len(set(values))} different values. Name a"
            f" column with at most {MOST_VALUES}, such as a judge's verdicts, or leave --by out."
        )
    return [entries[place] for place in evenly(values, n, rng)]


def evenly(values: Sequence[str], n: int, rng: Rng) -> list[int]:
    """Draw `n` places, as many of each value as of any other, or all that there are of it.

    Args:
        values: What a column says of each item, shape (n_items,).
        n: How many to draw, at most n_items.
    Returns:
        The drawn places, in the order in which they were drawn.
    """
    order = rng.permutation(len(values)).tolist()
    places: dict[str, list[int]] = {}
    for place in order:
        places.setdefault(values[place], []).append(place)
    drawn: set[int] = set()
    # The rarest values first: what they lack is shared by the others.
    by_size = sorted(places.values(), key=len)
    for done, of_value in enumerate(by_size):
        still_to_come = len(by_size) - done
        share = (n - len(drawn)) // still_to_come
        drawn.update(of_value[:share])
    return [place for place in order if place in drawn]
