"""How often an accusation of a kind was right on development; only kinds that were nearly always right are sure."""

from __future__ import annotations

import functools
from pathlib import Path

from undogmatic.safety.outside import read_yaml

FILE = Path(__file__).with_name("precision.yaml")
CONTRADICTED, INVENTED, HEDGED = "contradicted", "invented", "hedged"


@functools.cache
def measured() -> dict[str, dict[str, list[int]]]:
    """precision.yaml as it stands: by what accuses and by kind, how many were right and how many there were."""
    loaded: dict[str, dict[str, list[int]]] = read_yaml(FILE)
    return loaded


def is_sure(source: str, kind: str, least: float) -> bool:
    """Whether a kind of accusation is more precise than `least`.

    The precision is (right + 1) / (all + 2), Laplace's rule of succession: what was seen a few times is not sure,
    though it was right each time (above .9 after nine of nine); what was never seen is at .5.

    Args:
        source: CONTRADICTED, INVENTED or HEDGED.
        kind: Of the accusation: date, vote, name, ...
        least: A share.
    """
    right, every = measured()[source].get(kind, (0, 0))
    return (right + 1) / (every + 2) > least
