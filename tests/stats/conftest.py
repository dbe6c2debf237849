"""Property tests here try the same examples on every run: a statistic that fails by luck teaches nobody anything."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
