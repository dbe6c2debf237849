"""A seeded part of a dataset, its conditions in turn."""

from __future__ import annotations

from collections import Counter

import pytest

from undogmatic.datasets.base import SubsetDataset
from undogmatic.errors import ConfigError
from undogmatic.records.records import Item


class Whole:
    name, about = "whole", "whole, test split"

    def load(self) -> list[Item]:
        sizes = {"a": 30, "b": 10, "c": 2}
        return [Item(id=f"{c}{k}", text="t", condition=c) for c, size in sizes.items() for k in range(size)]


def test_conditions_take_turns_until_they_run_out() -> None:
    counts = Counter(item.condition for item in SubsetDataset(Whole(), 14).load())
    assert counts == {"a": 6, "b": 6, "c": 2}


def test_the_same_seed_draws_the_same_items_and_a_larger_subset_keeps_them() -> None:
    few, many = ([i.id for i in SubsetDataset(Whole(), n).load()] for n in (8, 20))
    assert few == many[:8]
    assert few != [i.id for i in SubsetDataset(Whole(), 8, seed=1).load()]


def test_more_than_there_are_is_an_error_that_counts() -> None:
    with pytest.raises(ConfigError, match=r"`dataset\.n` is 43, but whole, test split has 42 items"):
        SubsetDataset(Whole(), 43).load()
    with pytest.raises(ConfigError, match=r"`dataset\.n` is 0"):
        SubsetDataset(Whole(), 0)
