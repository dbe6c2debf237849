"""Draws items for labelling evenly from what a column says of them, such as a judge's verdicts."""

from collections.abc import Sequence

from undogmatic.stats.checks import Rng

MOST_VALUES = 20
"""Most different values of a column that items are drawn from: of more there would be one or two
items each."""


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
