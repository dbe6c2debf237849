"""Checks array arguments once where they enter, in one wording that names the argument."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Rng = np.random.Generator
Labels = Sequence[object] | ArrayLike
Groups = Labels | None
"""What belongs together, one label per item: whole groups are the independent units. None: each
item is one."""

SAME = 1e-10
"""Values whose range is no more than this share of the largest of them differ by rounding alone."""
MOST_UNITS = 10**6
"""More than these are as good as no number of units."""
FEW_ENOUGH, MOST_TIMES, MOST_MORE = 200, 10, 2000
"""How many units anybody gathers to settle one question: so many in any case; else at most so many
times as there were, and at most so many more, or twice as many where there are many already."""


def worth_naming(needed: float, there: int) -> int | None:
    """Round up a number of units that would settle something, where `there` were so many; None
    where nobody gathers so many."""
    most = max(FEW_ENOUGH, min(MOST_TIMES * there, there + max(MOST_MORE, there)))
    return max(there + 1, math.ceil(needed)) if needed <= most else None


def vector(values: ArrayLike, name: str, minimum: int = 1) -> Array:
    """Check `minimum` or more finite numbers, shape (n,); a ValueError names the argument that is
    something else."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(
            f"`{name}` must be one-dimensional; its shape is {array.shape}."
        )
    if array.size < minimum:
        raise ValueError(
            f"`{name}` holds {array.size} values; at least {minimum} are needed."
        )
    return rows(array, name)


def paired_vectors(
    a: ArrayLike, b: ArrayLike, names: tuple[str, str] = ("a", "b"), minimum: int = 1
) -> tuple[Array, Array]:
    """Check two vectors of equal length; raises ValueError naming both if they differ."""
    first = vector(a, names[0], minimum)
    second = vector(b, names[1], minimum)
    if first.size != second.size:
        raise ValueError(
            f"`{names[0]}` holds {first.size} values and `{names[1]}` {second.size}; they are"
            " matched one to one."
        )
    return first, second


def increasing(levels: ArrayLike) -> Array:
    """Check a `vector` of values that increase strictly: the levels of a scale."""
    array = vector(levels, "levels")
    if np.any(np.diff(array) <= 0):
        raise ValueError("`levels` must increase strictly.")
    return array


def flags(values: Array, name: str) -> Array:
    """Check that each value is 0 or 1."""
    if not np.isin(values, (0, 1)).all():
        raise ValueError(f"`{name}` must hold only 0 and 1.")
    return values


def rows(values: ArrayLike, name: str) -> Array:
    """Check an array whose first axis counts observations: shape (n,) or (n, k), finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim not in (1, 2):
        raise ValueError(
            f"`{name}` must have shape (n,) or (n, k); its shape is {array.shape}."
        )
    n_missing = int(np.isnan(array).sum())
    if n_missing:
        raise ValueError(
            f"`{name}` holds NaN in {n_missing} places; drop or count failures first."
        )
    if not np.isfinite(array).all():
        raise ValueError(f"`{name}` holds an infinite value.")
    return array


def labels(values: Labels, name: str, length: int) -> Index:
    """Number group labels 0..n_groups-1, in the order of first appearance; shape (length,)."""
    listed = values if isinstance(values, np.ndarray) else list(values)  # type: ignore[arg-type]
    if len(listed) != length:
        raise ValueError(f"`{name}` holds {len(listed)} labels for {length} values.")
    if (
        isinstance(listed, np.ndarray)
        and listed.dtype.kind in "iu"
        and listed.ndim == 1
    ):
        _, first, sorted_codes = np.unique(
            listed, return_index=True, return_inverse=True
        )
        by_appearance = np.argsort(np.argsort(first))
        return np.asarray(by_appearance[sorted_codes], dtype=np.intp)
    codes: dict[object, int] = {}
    for label in listed:
        if label is None or (
            isinstance(label, (float, np.floating)) and np.isnan(label)
        ):
            raise ValueError(f"`{name}` holds a missing label.")
        codes.setdefault(label, len(codes))
    return np.array([codes[label] for label in listed], dtype=np.intp)


def groups(members: Groups, length: int, least: int = 0) -> Index:
    """Number the `labels` of the argument `groups`, at least so many; None makes each of `length`
    items a group of its own."""
    codes = np.arange(length) if members is None else labels(members, "groups", length)
    n_units = int(codes.max(initial=-1)) + 1
    if n_units < least:
        raise ValueError(
            f"`groups` gives {n_units} units; at least {least} are needed."
        )
    return codes


def grouped(
    values: ArrayLike, name: str, level: float, members: Groups
) -> tuple[Array, Index]:
    """Check the usual arguments: `vector` of values, and `groups` of them; the level must be a
    `share`."""
    share(level, "level")
    array = vector(values, name)
    return array, groups(members, array.size)


def share(value: float, name: str) -> float:
    """Check a number strictly between 0 and 1, such as a confidence level."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"`{name}` is {value}; it must lie strictly between 0 and 1.")
    return float(value)


def option(value: object, name: str, options: tuple[object, ...]) -> None:
    """Refuse a word that is none of `options`, naming them; an `else` branch would otherwise take
    it silently."""
    if value not in options:
        raise ValueError(
            f"`{name}` is {value!r}; it must be one of {', '.join(map(repr, options))}."
        )


def fewest(
    enough: Callable[[int], bool], at_least: int, most: float = MOST_UNITS
) -> int | None:
    """Find the smallest number from `at_least` on that is enough, where every larger one is, too;
    None beyond `most`."""
    high = at_least
    # Doubled first: nobody knows before how large the answer is, and each question to
    # `enough` may be a computation of its own.
    while not enough(high):
        high *= 2
        if high > most:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return max(high, at_least)


def farthest(margin: Callable[[float], float], inside: float, end: float) -> float:
    """Find how far from `inside` towards `end` nothing is ruled out: the end, or the first place
    that is.

    The place is known to a sixteen-millionth of the way. It is looked for where a line through both
    sides has its zero, a little nearer to the middle, and never takes more steps than halving and
    one (ITP); mostly it takes a third.

    Args:
        margin: By how much a place is ruled out: above 0 where it is; may be infinite.
    References:
        Oliveira and Takahashi (2020), An enhancement of the bisection method average performance
        preserving minmax optimality. doi:10.1145/3423597
    """
    beyond = margin(end)
    if not beyond > 0:
        return end
    within = margin(inside)
    near = 0.0
    far = 1.0
    precision = 2.0**-25
    most_steps = 25
    for step in range(most_steps):
        width = far - near
        middle = (near + far) / 2
        if width <= 2 * precision:
            break
        at = middle
        if -math.inf < within <= 0 and beyond < math.inf:
            line = (beyond * near - within * far) / (beyond - within)
            towards = math.copysign(1.0, middle - line)
            at = line + towards * min(0.2 * width**2, abs(middle - line))
            # Farther from the middle than this, halving could not make up for a step that gains
            # little.
            most = max(precision * 2.0 ** (most_steps - step) - width / 2, 0.0)
            if abs(at - middle) > most:
                at = middle - towards * most
        there = margin(inside + at * (end - inside))
        if there > 0:
            far, beyond = at, there
        else:
            near, within = at, there
    return inside + far * (end - inside)


def ranks(values: ArrayLike, axis: int | None = None) -> Array:
    """Rank from 1, ties at their mean rank: all values, shape (n,), or along an axis, in the shape
    of the values.

    As `scipy.stats.rankdata`; importing `scipy.stats` takes longer than a whole check of verdicts.
    """
    x = np.asarray(values, dtype=np.float64)
    x = np.moveaxis(x, axis, -1) if axis is not None else x.ravel()
    order = np.argsort(x, axis=-1, kind="stable")
    ordered = np.take_along_axis(x, order, -1)
    n = x.shape[-1]
    begins = np.ones(x.shape, dtype=bool)
    begins[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    ends = np.ones(x.shape, dtype=bool)
    ends[..., :-1] = begins[..., 1:]
    # The first and the last place of the tie that each place is in.
    first = np.maximum.accumulate(np.where(begins, np.arange(n), 0), axis=-1)
    backwards = np.where(ends, np.arange(n), n)[..., ::-1]
    last = np.minimum.accumulate(backwards, axis=-1)[..., ::-1]
    out = np.empty(x.shape)
    np.put_along_axis(out, order, (first + last) / 2 + 1, -1)
    return np.asarray(out if axis is None else np.moveaxis(out, -1, axis))


def is_constant(array: Array) -> bool:
    """Say whether all values are equal up to rounding, so that no correlation exists."""
    return bool(np.ptp(array) <= SAME * np.max(np.abs(array)))


def tied(array: Array) -> Array:
    """Round values to twelve digits of the largest, so that those which differ by rounding alone
    are tied, or zero.

    (2/5 + 4/5) / 2 is not 3/5 in floating point, and whatever ranks values would see a difference.
    """
    largest = float(np.max(np.abs(array), initial=0.0))
    if not 0 < largest < np.inf:
        return array
    return np.asarray(np.round(array / largest, 12) * largest)
