"""Fixtures of the tests of judges and of analyses, for what is measured."""

from tests.examinations.conftest import rng, said
from tests.judges.conftest import bench

__all__ = ["bench", "rng", "said"]
