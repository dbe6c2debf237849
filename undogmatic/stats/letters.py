"""All-pairwise comparisons as letters: what shares a letter was not shown to differ."""

from __future__ import annotations

import string
from collections.abc import Collection, Sequence


def letter_display(names: Sequence[str], different: Collection[tuple[str, str]]) -> dict[str, str]:
    """Letters per name: two names share one exactly if they are not a different pair.

    Args:
        names: Distinct, in the order in which letters are given out (best first).
        different: Pairs that differ, in any order.
    Returns:
        Name -> its letters, e.g. "ab"; {} where more letters would be needed than there are (52).
    Raises:
        ValueError: A pair names something else.
    References:
        Piepho (2004), An algorithm for a letter-based representation of all-pairwise comparisons, insert and absorb.
        doi:10.1198/1061860043515
    """
    unknown = {name for pair in different for name in pair} - set(names)
    if unknown:
        raise ValueError(f"pairs name {sorted(unknown)}, which are not among the names")
    groups = [frozenset(names)]
    for one, other in different:
        split = []
        for group in groups:
            split += [group - {one}, group - {other}] if {one, other} <= group else [group]
        groups = [g for n, g in enumerate(split) if not any(g < h or (g == h and m < n) for m, h in enumerate(split))]
    order = {name: n for n, name in enumerate(names)}
    groups.sort(key=lambda group: sorted(order[name] for name in group))
    if len(groups) > len(string.ascii_letters):
        return {}
    lettered = list(zip(string.ascii_letters, groups, strict=False))
    return {name: "".join(letter for letter, group in lettered if name in group) for name in names}
