"""Verdict a result with every wording checked, as the tests of the generic analyses do."""

from __future__ import annotations

from tests.analyses.conftest import rng, said

__all__ = ["rng", "said"]
