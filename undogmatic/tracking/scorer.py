"""Makes a judge that may be trusted a scorer of MLflow, which `mlflow.genai.evaluate` takes.

The judge is the one of a run that was held against labels, asked as it was there; the scorer's
description is the answer of its check: what it may be used for, what not, and what is not known.
One that should not be trusted is refused with the reason.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.engine.module import Composed, compares
from undogmatic.errors import ConfigError
from undogmatic.examinations.check import check
from undogmatic.examinations.of_run import kept_evidence
from undogmatic.records.checked import CheckOptions
from undogmatic.records.records import OVERALL, Judgment
from undogmatic.report.check import uses_of, words_of
from undogmatic.report.uses import titled
from undogmatic.runs.folder import COMPOSED, RunFolder
from undogmatic.runs.outcome import FinishedRun
from undogmatic.safety.command import say
from undogmatic.safety.outside import json_value
from undogmatic.safety.secrets import scrub_data
from undogmatic.tracking.notes import of_judge
from undogmatic.tracking.registry import plain_name
from undogmatic.tracking.store import Store, prepare_environment

if TYPE_CHECKING:
    from mlflow.entities import Feedback
    from mlflow.genai.scorers import Scorer

RESULTS = "results.json"
_SOURCE = (
    "from undogmatic.tracking.scorer import said\n\nreturn said({config}, "
    "{name}, inputs, outputs)"
)
"""What MLflow keeps of a scorer is source, which it runs where the scorer is loaded: the composed
config as JSON text, and the call that judges by it."""


def scorer(run: str | Path, name: str | None = None) -> Scorer:
    """The judge of a run as a scorer of MLflow, for `mlflow.genai.evaluate(data, scorers=[...])`.

    Of each row the rubric's inputs are taken by name from `inputs`, and from `outputs` where that
    is a mapping; the only one that is in neither is `outputs` itself.

    Args:
        run: The folder of a finished run with labels (`analysis=labelled`).
        name: Of the scorer and of its feedback; None: the rubric's.
    Returns:
        The scorer. Its own `register()` keeps it in the store, for which MLflow wants
        MLFLOW_SERVER_ENABLE_CUSTOM_SCORERS=true wherever that is no Databricks.
    Raises:
        ConfigError: The judge should not be trusted, or cannot be asked again; the message says
            why.
    """
    folder = RunFolder(Path(run))
    if not folder.has(COMPOSED) or not folder.has(RESULTS):
        raise ConfigError(
            f"{folder.path} is no folder of a finished run. Name one that was held against labels:"
            " python -m undogmatic.run analysis=labelled ..."
        )
    elsewhere = bool(folder.json(RESULTS).get("elsewhere"))
    config = {key: folder.value(key) for key in folder.composed}
    return _scorer(folder.path, config, name, elsewhere)


def register(store: Store, run: FinishedRun) -> dict[str, str]:
    """Register the judge of a run with labels as a scorer of its experiment, where MLflow was told
    that it may keep such (MLFLOW_SERVER_ENABLE_CUSTOM_SCORERS), and return the tag that names it;
    of one that may not be believed say why not."""
    from mlflow.environment_variables import MLFLOW_SERVER_ENABLE_CUSTOM_SCORERS
    from mlflow.exceptions import MlflowException

    # no public way takes an address
    from mlflow.genai.scorers.registry import _get_scorer_store

    labelled = [result for result in run.results if result.evidence is not None]
    if not MLFLOW_SERVER_ENABLE_CUSTOM_SCORERS.get() or not labelled:
        return {}
    if any(result.standing != "supported" for result in labelled):
        # The run's own answer says why; it is printed in a moment.
        say(
            "The judge is not registered as a scorer of MLflow, as it should not be trusted."
        )
        return {}
    try:
        made = _scorer(run.folder, run.config, None, run.elsewhere)
        version: Any = _get_scorer_store(store.uri).register_scorer(
            store.experiment_id, made
        )
    except (ConfigError, MlflowException) as error:
        say(f"The judge is not registered as a scorer of MLflow: {error}")
        return {}
    number = getattr(version, "scorer_version", version)
    return {"undogmatic.scorer": f"{made.name}, version {number}"}


def _scorer(
    folder: Path, config: Mapping[str, Any], name: str | None, elsewhere: bool
) -> Scorer:
    """The scorer of a run's judge. Raises ConfigError."""
    if elsewhere or compares(config):
        what = (
            "its judgments were made elsewhere, so there is no judge to ask"
            if elsewhere
            else "it compares two programs. Judge by the better one in a run of its own"
            f" (prompt=program prompt.path={folder}/program.json)"
        )
        raise ConfigError(f"{folder}: {what}.")
    text = json.dumps(scrub_data(dict(config)), ensure_ascii=False)
    rubric = _composed(text).parts.rubric.name
    described = _card(folder)
    prepare_environment()
    from mlflow.genai.scorers import scorer as made_of
    from mlflow.genai.scorers.base import SerializedScorer

    called = plain_name(name or rubric)

    def judge(inputs: Any = None, outputs: Any = None) -> Any:
        return said(text, called, inputs, outputs)

    made: Scorer = made_of(judge, name=called, description=described)
    kept = SerializedScorer(
        name=called,
        description=described,
        timeout=None,
        call_source=_SOURCE.format(config=repr(text), name=repr(called)),
        call_signature="(inputs=None, outputs=None)",
        original_func_name="judge",
    )
    # What is registered. MLflow reads the source of the function otherwise, which lacks the config,
    # and makes a scorer of given source only where custom ones may be registered.
    made._cached_dump = asdict(kept)
    return made


def _card(folder: Path) -> str:
    """What a check of the run says its judge may be used for. Raises ConfigError where it may not
    be believed, or nobody knows."""
    evidence = kept_evidence(folder)
    if evidence is None:
        raise ConfigError(
            f"{folder} was not held against labels of people, so nobody knows whether its judge may"
            " be trusted. Judge texts with labels: analysis=labelled."
        )
    result = check(evidence, CheckOptions())
    words = words_of("en")
    lines = []
    for each in result.judges:
        answer = words.answered(each.answer)
        named = answer if each.criterion == OVERALL else f"{each.criterion}: {answer}"
        lines += [named, *titled(uses_of(result, each, words), words)]
        if each.standing != "supported":
            raise ConfigError(
                f"{each.judge} of {folder} should not be trusted, so it is no scorer of MLflow."
                f" {answer}"
            )
    return "\n".join(lines)


@functools.lru_cache(8)
def _composed(config: str) -> Composed:
    """The judge of a config, built once in a process: a model's file is read once, too."""
    return Composed(json_value(config))


def said(
    config: str, name: str, inputs: Any, outputs: Any
) -> Feedback | list[Feedback]:
    """What the judge of a config says of a row of MLflow's; of several criteria a feedback each. An
    answer that could not be had is a feedback with an error, never a score."""
    composed = _composed(config)
    found = composed.judgments(_inputs(composed.parts.rubric.inputs, inputs, outputs))
    told = [_feedback(name, judgment) for judgment in found]
    return told[0] if len(told) == 1 else told


def _inputs(names: tuple[str, ...], inputs: Any, outputs: Any) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for side in (inputs, outputs):
        given |= dict(side) if isinstance(side, Mapping) else {}
    chosen = {name: given[name] for name in names if name in given}
    missing = [name for name in names if name not in chosen]
    if len(missing) == 1 and outputs is not None and not isinstance(outputs, Mapping):
        chosen[missing[0]] = outputs
    return chosen


def _feedback(name: str, judgment: Judgment) -> Feedback:
    feedback: Any = of_judge(judgment)[0]
    feedback.name = (
        name if judgment.criterion == OVERALL else f"{name}.{judgment.criterion}"
    )
    return feedback  # type: ignore[no-any-return]
