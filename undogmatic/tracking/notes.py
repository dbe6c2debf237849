"""Says as assessments of MLflow what a judge, a dataset and people say of an item, and in a line
what a trace shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from undogmatic.records.labels import HUMAN, Label
from undogmatic.records.records import Failure, Item, Judgment
from undogmatic.records.redaction import redact_judgment
from undogmatic.safety.secrets import redacted
from undogmatic.tracking.figures import cut

if TYPE_CHECKING:
    from mlflow.entities import Assessment

SCORE, FLAG, LABEL = "judge_score", "judge_flag", "label"
LONGEST_SOURCE, LONGEST_PREVIEW = 250, 1000  # characters, MLflow's limits


def shown(item: Item, judgment: Judgment) -> tuple[str, str]:
    """What the columns of a list of traces show: the judged text, and the verdict as one reads
    it."""
    outcome = judgment.outcome
    if isinstance(outcome, Failure):
        said = f"no verdict ({outcome.reason}): {outcome.message}"
    else:
        interval = (
            ""
            if outcome.interval is None
            else " [{:.4g}, {:.4g}]".format(*outcome.interval)
        )
        score = outcome.category or f"{outcome.score:.4g}{interval}"
        said = ". ".join(filter(None, [score, outcome.rationale, *outcome.issues]))
    return cut(item.text, LONGEST_PREVIEW), cut(said, LONGEST_PREVIEW)


def of_dataset(item: Item, criterion: str) -> list[Assessment]:
    """The label that the dataset has for an item. Its source is no person, so that no import takes
    it for a new one."""
    from mlflow.entities import AssessmentSource, AssessmentSourceType, Expectation

    label = item.labelled(criterion)
    if label is None:
        return []
    return [
        Expectation(
            LABEL, label, source=AssessmentSource(AssessmentSourceType.CODE, "dataset")
        )
    ]


def of_judge(
    judgment: Judgment,
    flagged: bool | None = None,
    row: Mapping[str, str] | None = None,
    hide: bool = False,
) -> list[Assessment]:
    """What the judge says of an item: its score, and whether it is flagged where that is known;
    with facts of its row in the queue."""
    from mlflow.entities import (
        AssessmentError,
        AssessmentSource,
        AssessmentSourceType,
        Feedback,
    )

    judgment = redact_judgment(judgment) if hide else judgment
    outcome, provenance = judgment.outcome, judgment.provenance
    who = cut(
        f"{provenance.model} {provenance.readout} {judgment.judge}", LONGEST_SOURCE
    )
    judge = AssessmentSource(AssessmentSourceType.LLM_JUDGE, who)
    code = AssessmentSource(AssessmentSourceType.CODE, "undogmatic")
    about: dict[str, Any] = dict(row or {})
    if isinstance(outcome, Failure):
        score = Feedback(
            SCORE,
            error=AssessmentError(outcome.reason, outcome.message),
            source=judge,
            metadata=about,
        )
    else:
        interval = (
            None
            if outcome.interval is None
            else "{:g} to {:g}".format(*outcome.interval)
        )
        confidence = None if outcome.confidence is None else f"{outcome.confidence:g}"
        facts = {
            "interval": interval,
            "confidence": confidence,
            "uncertainty": outcome.uncertainty,
        }
        about |= {name: value for name, value in facts.items() if value is not None}
        why = "\n".join(filter(None, [outcome.rationale, *outcome.issues]))
        value = outcome.category if outcome.score is None else outcome.score
        score = Feedback(
            SCORE, value=value, source=judge, rationale=why or None, metadata=about
        )
    flag = (
        []
        if flagged is None
        else [Feedback(FLAG, value=flagged, source=code, metadata=dict(row or {}))]
    )
    return [score, *flag]


def of_human(label: Label, value: float | str, hide: bool = False) -> list[Assessment]:
    """What a person says of an item: `value` is the label in score units or a category's name."""
    from mlflow.entities import AssessmentSource, AssessmentSourceType, Expectation

    about = {"file": label.place, "given": label.as_given}
    if label.comment is not None:
        about["comment"] = redacted(label.comment) if hide else label.comment
    human = AssessmentSource(
        AssessmentSourceType.HUMAN, cut(label.labeller, LONGEST_SOURCE)
    )
    return [Expectation(HUMAN, value, source=human, metadata=about)]
