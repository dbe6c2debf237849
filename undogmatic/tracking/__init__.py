"""Logs runs and sweeps. The only package that imports mlflow, and only once something is logged.

tracker   what a config builds (MlflowTracker, NoTracker), and a run in MLflow's terms: tags, parameters, table
store     the MLflow store, made once and opened under a lock; its errors in plain words
traces    the calls of a run as MLflow traces, made from the journal
assessments  what judge and humans say of an item, on its trace
registry  prompts and programs in MLflow's prompt registry; `program`: read as the prompt of a run
"""

from undogmatic.tracking.tracker import MlflowTracker, NoTracker

__all__ = ["MlflowTracker", "NoTracker"]
