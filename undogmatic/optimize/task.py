"""A judge as DSPy's optimisers take it: examples in, verdicts out; and the metric as they call it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import dspy

from undogmatic.errors import ModelError, UndogmaticError
from undogmatic.judges.base import Judge
from undogmatic.models.calls import recording
from undogmatic.optimize.metrics import METRICS, Metric, Terms, feedback
from undogmatic.records.records import Item, Verdict, digest

TEXTS = "judged_together"
"""The input of an example that holds several texts; one text's example has the rubric's own inputs."""
PATIENCE = 300.0
"""Seconds in which a call that is under way must have ended, one way or another."""


class Known:
    """The items behind the texts of examples, for judges that read their metadata; copies of a program share it."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self.items = {digest(item.inputs): item.blind() for item in items}
        self.stopped: BaseException | None = None
        self.judged = self.running = 0
        self.programs: set[str] = set()  # hashes of those that judged anything
        self.changed = threading.Condition()

    def __deepcopy__(self, memo: dict[int, Any]) -> Known:
        return self

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Count who is judging. Raises what stopped the search, if it was."""
        with self.changed:
            if self.stopped is not None:
                raise self.stopped
            self.running += 1
        try:
            yield
        finally:
            with self.changed:
                self.running -= 1
                self.changed.notify_all()

    def ended(self, error: BaseException | None) -> None:
        """Begin nothing any more, and wait for what is under way: DSPy leaves its threads to themselves, and they use
        the cache."""
        with self.changed:
            self.stopped = self.stopped or error
            self.changed.wait_for(lambda: self.running == 0, PATIENCE)

    def item(self, inputs: Mapping[str, str]) -> Item:
        """The item with these inputs, without what a judge must not know."""
        return self.items.get(digest(dict(inputs))) or Item(id="item", inputs=dict(inputs))


class Task(dspy.Module):
    """Judges the texts of an example. Its only part is the judge, so that predictors are named as in the judge, with
    `judge.` in front.

    What is not the fault of one answer (a full budget, a wrong key) is kept in `known.stopped`, because DSPy takes any
    exception for a wrong answer until there are many.
    """

    def __init__(self, judge: Judge, known: Known, criterion: str) -> None:
        super().__init__()
        self.judge, self.known, self.criterion = judge, known, criterion

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Verdicts, why any failed, and how many thousand characters were sent for each text on average."""
        texts = inputs.get(TEXTS, [inputs])
        with recording() as calls:
            verdicts, why = zip(*(self._one(self.known.item(text)) for text in texts), strict=True)
        sent = sum(len(str(call.request)) for call in calls) / 1000 / len(texts)
        score = None if verdicts[0] is None else verdicts[0].score
        return dspy.Prediction(verdicts=[*verdicts], why=[*why], sent=sent, score=score)

    def _one(self, item: Item) -> tuple[Verdict | None, str]:
        program = self.judge.program_hash()
        try:
            with self.known.at_work():
                found = self.judge(item=item)
        except UndogmaticError as error:
            if isinstance(error, ModelError) and error.kind not in ("budget", "transport", "timeout"):
                return None, f"{error.kind}: {error}"
            self.known.stopped = error
            raise
        with self.known.changed:
            self.known.judged += 1
            self.known.programs.add(program)
        verdict = found.verdicts[self.criterion] if "verdicts" in found else found.verdict
        return (None, f"{verdict.kind}: {verdict}") if isinstance(verdict, ModelError) else (verdict, "")


def example(items: Sequence[Item], metric: Metric, terms: Terms) -> dspy.Example:
    """One text, pair or block as DSPy holds it. A labelled text is a demonstration as it is: its score is the label,
    with the confidence and rationale that its metadata have, if any."""
    noted = {"the_items": tuple(items), "the_metric": metric.name}
    if len(items) > 1:
        return dspy.Example(**{TEXTS: [dict(item.inputs) for item in items]}, **noted).with_inputs(TEXTS)
    (item,) = items
    label, scale = item.labelled(terms.criterion), terms.rubric.scale
    answer: dict[str, Any] = {}
    if label is not None:
        answer = {"score": label if scale.kind == "numeric" else scale.write(label), "confidence": 90}
        answer |= {"rationale": item.metadata["reason"]} if item.metadata.get("reason") else {}
    return dspy.Example(**{**item.inputs, **answer, **noted}).with_inputs(*item.inputs)


class Measure:
    """The metric in the forms in which DSPy's optimisers call one.

    `language` is that of the feedback; `known` keeps that the metric cannot be had of these verdicts; `cost_weight` is
    taken off per thousand characters sent for a text, so that a cheaper program of equal quality wins.
    """

    def __init__(self, terms: Terms, language: str, known: Known, cost_weight: float = 0.0) -> None:
        self.terms, self.language, self.known, self.cost_weight = terms, language, known, cost_weight

    def __call__(self, example: dspy.Example, prediction: Any, trace: Any = None, *rest: Any) -> float:
        """The value of a prediction, in [0, 1]; 0 where there is none."""
        if getattr(prediction, "verdicts", None) is None:
            return 0.0
        try:
            value = METRICS[example.the_metric].value(example.the_items, prediction.verdicts, self.terms)
        except UndogmaticError as error:
            self.known.stopped = error
            raise
        return max(0.0, value - self.cost_weight * prediction.sent)

    def with_feedback(
        self, example: dspy.Example, prediction: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> dspy.Prediction:
        """The value and what was wrong in words, as GEPA reads it."""
        value, judged = self(example, prediction), getattr(prediction, "verdicts", None) is not None
        items, said, why = (example.the_items, prediction.verdicts, prediction.why) if judged else ((), (), ())
        return dspy.Prediction(score=value, feedback=feedback(items, said, why, self.terms, self.language))
