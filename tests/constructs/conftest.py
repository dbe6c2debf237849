"""What the tests of analyses and judges use, for those of the constructs."""

from tests.analyses.conftest import rng, said  # noqa: F401  (fixtures)
from tests.judges.conftest import bench  # noqa: F401  (a fixture)
