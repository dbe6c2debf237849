"""Logs runs and sweeps. The only package that imports mlflow, and only once something is logged."""

from undogmatic.tracking.tracker import MlflowTracker, NoTracker

__all__ = ["MlflowTracker", "NoTracker"]
