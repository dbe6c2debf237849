"""Keeps prompt, model and judge of a run together as a logged model of MLflow, on which the metrics
of all runs of that judge hang.

A judge is the same where all that determines its judgments is (`Provenance.config_hash`): its runs
over several datasets stand side by side on its page.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from undogmatic.records.records import digest
from undogmatic.records.stored import voices
from undogmatic.runs.outcome import FinishedRun
from undogmatic.safety.command import say
from undogmatic.tracking.figures import LONGEST_PARAM, cut, plain_key
from undogmatic.tracking.registry import plain_name
from undogmatic.tracking.store import Store

KIND = "judge"  # MLflow's `model_type`
IDENTITY, NOTE = "undogmatic.judge", "mlflow.note.content"
GROUPS = ("model", "prompt", "judge", "readout", "rubric")


def log_model(store: Store, run_id: str, run: FinishedRun, said: str) -> dict[str, str]:
    """Link a run to the logged model of its judge, which is made where there is none; `said` is
    its description.

    Returns:
        What metrics are told besides (`figures.log_all`): nothing on a server that has no logged
            models.
    """
    from mlflow.exceptions import MlflowException

    try:
        model_id = _known(store, _identity(run))
        if model_id is None:
            model_id = _made(store, run_id, run)
        else:
            from mlflow.entities import LoggedModelInput

            store.client.log_inputs(run_id, models=[LoggedModelInput(model_id)])
        if said:
            store.client.set_logged_model_tags(model_id, {NOTE: said})
    except (MlflowException, NotImplementedError) as error:
        say(f"The judge has no page in MLflow: {str(error).splitlines()[0]}")
        return {}
    return {"model_id": model_id}


def _identity(run: FinishedRun) -> str:
    """Hash of what determines the judgments of all judges of a run, whatever they judge."""
    of_one_item = islice(run.judgments, len(voices(run.frame)))
    hashes = {judgment.provenance.config_hash: None for judgment in of_one_item}
    return next(iter(hashes)) if len(hashes) == 1 else digest([*hashes])


def _known(store: Store, identity: str) -> str | None:
    """The logged model of this judge, if there is one."""
    wanted = f"tags.`{IDENTITY}` = '{identity}'"
    found = store.client.search_logged_models(
        [store.experiment_id], wanted, max_results=1
    )
    return next((str(model.model_id) for model in found), None)


def _made(store: Store, run_id: str, run: FinishedRun) -> str:
    from mlflow.entities import LoggedModelOutput
    from mlflow.utils.mlflow_tags import MLFLOW_MODEL_IS_EXTERNAL

    about = _settings(run)
    tags = {IDENTITY: _identity(run), MLFLOW_MODEL_IS_EXTERNAL: "true"}
    named = "-".join(
        about[name] for name in ("model", "prompt", "judge") if name in about
    )
    made: Any = store.client.create_logged_model(
        store.experiment_id, plain_name(named) or KIND, run_id, tags, about, KIND
    )
    store.client.finalize_logged_model(made.model_id, "READY")
    store.client.log_outputs(run_id, [LoggedModelOutput(made.model_id, step=0)])
    return str(made.model_id)


def _settings(run: FinishedRun) -> dict[str, str]:
    """What the judge is: the choice in each group that it reads, and what a model was sent."""
    read = [name for name in GROUPS if name != "prompt" or run.uses_prompt]
    about = {name: run.choices[name] for name in read if name in run.choices}
    about |= {"rubric": run.rubric.name, "model.name": run.model_name}
    if run.uses_prompt:
        about |= {"prompt.hash": run.prompt_hash, "prompt.text": run.prompt_text}
    return {plain_key(name): cut(value, LONGEST_PARAM) for name, value in about.items()}
