"""That rows are tied by marks that they share, and cells gathered from rows that do not all have
the same columns."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from undogmatic.datasets.frames import cells_of
from undogmatic.datasets.together import _components, heads_of


@pytest.mark.parametrize("seed", range(20))
def test_components_are_those_that_marks_tie_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    marks = [
        rng.integers(-1, rng.integers(1, 40), n) for _ in range(rng.integers(0, 4))
    ]
    rows = [
        [(kind, int(codes[k])) for kind, codes in enumerate(marks) if codes[k] >= 0]
        or [k]
        for k in range(n)
    ]
    heads = heads_of(rows)
    numbers = {head: number for number, head in enumerate(dict.fromkeys(heads))}
    assert _components(marks, n).tolist() == [numbers[head] for head in heads]


def test_cells_of_rows_that_come_once_and_have_columns_of_their_own() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"a": 1, "b": " "}
        yield {"c": {"d": True, "e": [1]}}
        yield {"b": "x", "a": 2.0}

    cells = cells_of(rows())
    assert list(cells) == ["a", "b", "c.d", "c.e"]
    assert cells.to_numpy().tolist() == [
        [1, None, None, None],
        [None, None, "true", "[1]"],
        [2, "x", None, None],
    ]
    assert cells_of([]).shape == (0, 0)
