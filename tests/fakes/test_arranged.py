"""Pairs that differ in one arrangement alone: whoever reads that is found out (`python -m benchmarks.arranged`)."""

import pytest

from benchmarks.arranged import KINDS, verdict


@pytest.mark.parametrize("kind", KINDS)
def test_a_judge_that_reads_one_arrangement_is_not_believed(kind: str) -> None:
    assert {verdict(kind, 46, seed) for seed in range(2)} <= {"surface_as_good", "surface_explains"}
