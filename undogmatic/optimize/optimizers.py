"""The choices of `optimizer=`: DSPy's own optimisers, each with the arguments of DSPy's that matter
for judges.

Nothing of DSPy is patched. What is ours is what they are given: the judge as a program (`Task`:
examples in, verdicts out), examples of one side of a split, and a metric as they call it
(`Measure`).
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

import dspy
from pydantic import Field, model_validator

from undogmatic.errors import ConfigError, DataError, ModelError, UndogmaticError
from undogmatic.judges.base import Judge
from undogmatic.models.calls import recording
from undogmatic.optimize.metrics import METRICS, Metric, Terms, feedback
from undogmatic.records.records import Item, Record, Verdict, digest

Count = Annotated[int, Field(ge=1, le=10_000)]
Some = Annotated[int, Field(ge=0, le=10_000)]
Share = Annotated[float, Field(gt=0, lt=1)]
# the input of an example that holds several texts; else it has the rubric's own inputs
TEXTS = "judged_together"


class Known:
    """The items behind the texts of examples, without what a judge must not know, and how far the
    search has come; copies of a program share it."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self.items = {digest(item.inputs): item.blind() for item in items}
        self.stopped: BaseException | None = None
        self.judged = self.running = 0
        self.programs: set[str] = set()  # hashes of those that judged anything
        self.changed = threading.Condition()

    def __deepcopy__(self, memo: dict[int, Any]) -> Known:
        return self


class Task(dspy.Module):
    """Judges the texts of an example. Its only part is the judge, so that predictors are named as
    in the judge, with `judge.` in front.

    What is not the fault of one answer (a full budget, a wrong key) is kept in `known.stopped`,
    because DSPy takes any exception for a wrong answer until there are many.
    """

    def __init__(self, judge: Judge, known: Known, criterion: str) -> None:
        super().__init__()
        self.judge, self.known, self.criterion = judge, known, criterion

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Verdicts, why any failed, and how many thousand characters were sent for each text on
        average."""
        texts = inputs.get(TEXTS, [inputs])
        items = [
            self.known.items.get(digest(dict(text)))
            or Item(id="item", inputs=dict(text))
            for text in texts
        ]
        with recording() as calls:
            verdicts, why = zip(*map(self._one, items), strict=True)
        sent = sum(len(str(call.request)) for call in calls) / 1000 / len(texts)
        score = None if verdicts[0] is None else verdicts[0].score
        return dspy.Prediction(verdicts=[*verdicts], why=[*why], sent=sent, score=score)

    def _one(self, item: Item) -> tuple[Verdict | None, str]:
        """The verdict, or why there is none. Raises what stopped the search, if it was."""
        program, known = self.judge.program_hash(), self.known
        with known.changed:
            if known.stopped is not None:
                raise known.stopped
            known.running += 1
        try:
            prediction = self.judge(item=item)
        except UndogmaticError as error:
            if isinstance(error, ModelError) and error.kind not in (
                "budget",
                "transport",
                "timeout",
            ):
                return None, f"{error.kind}: {error}"
            known.stopped = error
            raise
        finally:
            with known.changed:
                known.running -= 1
                known.changed.notify_all()
        with known.changed:
            known.judged += 1
            known.programs.add(program)
        verdict = (
            prediction.verdicts[self.criterion]
            if "verdicts" in prediction
            else prediction.verdict
        )
        return (
            (None, f"{verdict.kind}: {verdict}")
            if isinstance(verdict, ModelError)
            else (verdict, "")
        )


def example(items: Sequence[Item], metric: Metric, terms: Terms) -> dspy.Example:
    """One text, pair or block as DSPy holds it. A labelled text is a demonstration as it is: its
    score is the label, with the confidence and rationale that its metadata have, if any."""
    noted = {"the_items": tuple(items), "the_metric": metric.name}
    if len(items) > 1:
        return dspy.Example(
            **{TEXTS: [dict(item.inputs) for item in items]}, **noted
        ).with_inputs(TEXTS)
    (item,) = items
    label, scale = item.labelled(terms.criterion), terms.rubric.scale
    answer: dict[str, Any] = {}
    if label is not None:
        answer = {
            "score": label if scale.kind == "numeric" else scale.write(label),
            "confidence": 90,
        }
        answer |= (
            {"rationale": reason} if (reason := item.metadata.get("reason")) else {}
        )
    return dspy.Example(**{**item.inputs, **answer, **noted}).with_inputs(*item.inputs)


class Measure:
    """The metric in the forms in which DSPy's optimisers call one.

    `language` is that of the feedback; `known` keeps that the metric cannot be had of these
    verdicts; `cost_weight` is taken off per thousand characters sent for a text, so that a cheaper
    program of equal quality wins.
    """

    def __init__(
        self, terms: Terms, language: str, known: Known, cost_weight: float = 0.0
    ) -> None:
        self.terms = terms
        self.language = language
        self.known = known
        self.cost_weight = cost_weight

    def __call__(
        self, example: dspy.Example, prediction: Any, trace: Any = None, *rest: Any
    ) -> float:
        """The value of a prediction, in [0, 1]; 0 where there is none."""
        if getattr(prediction, "verdicts", None) is None:
            return 0.0
        try:
            value = METRICS[example.the_metric].value(
                example.the_items, prediction.verdicts, self.terms
            )
        except UndogmaticError as error:
            self.known.stopped = error
            raise
        return max(0.0, value - self.cost_weight * prediction.sent)

    def with_feedback(
        self,
        example: dspy.Example,
        prediction: Any,
        trace: Any = None,
        pred_name: Any = None,
        pred_trace: Any = None,
    ) -> dspy.Prediction:
        """The value and what was wrong in words, as GEPA reads it."""
        value = self(example, prediction)
        judged = getattr(prediction, "verdicts", None) is not None
        items, verdicts, why = (
            (example.the_items, prediction.verdicts, prediction.why)
            if judged
            else ((), (), ())
        )
        return dspy.Prediction(
            score=value,
            feedback=feedback(items, verdicts, why, self.terms, self.language),
        )


class Work(NamedTuple):
    """What an optimiser is given: the program, examples of both sides, the metric, a model that
    writes prompts (None where it needs none), how many examples may be judged at a time, and the
    seed."""

    task: Task
    train: list[dspy.Example]
    validation: list[dspy.Example]
    measure: Measure
    writer: dspy.LM | None
    threads: int
    seed: int


class NoOptimizer:
    """The prompt is used as written."""

    optimizes: ClassVar[bool] = False

    def compile(self, work: Work) -> Task:
        return work.task


class Optimizer(Record):
    """What all optimisers are told."""

    name: ClassVar[str]
    optimizes: ClassVar[bool] = True
    writes: ClassVar[bool] = False  # whether it needs a model that writes prompts
    needs_labels: ClassVar[bool] = False  # whether it can only show texts with labels

    # a name of METRICS; None: what the rubric and the data call for
    metric: str | None = None
    # which of a judge's criteria is made better; None: its first
    criterion: str | None = None
    # conditions of the two sides of a pair; None: those of the paired experiment
    worse: list[str] | None = None
    better: list[str] | None = None
    # Another dataset (a name of conf/dataset, or a mapping) to optimise on; None: the run's
    # development split, else a part of its texts.
    development: str | dict[str, Any] | None = None
    # A dataset whose labelled texts are trained on and shown; None: the development texts if they
    # have labels, else those that ship for the rubric.
    examples: str | dict[str, Any] | None = None
    # characters of the longest labelled text that is shown, so that prompts are cheap
    longest: Count | None = None
    train: Count = 60  # at most about so many examples on each side
    validation: Count = 40
    # of a dataset without a split of its own, what is kept for the verdict
    test_share: Share = 0.5
    # The smallest gain that matters, in units of the scale; None: the rubric's, or 0 for a metric
    # without such units.
    margin: Annotated[float, Field(ge=0)] | None = None
    alpha: Share = 0.05  # level of the verdict
    power: Share = 0.8  # for the detectable gain that is announced
    cost_weight: Annotated[float, Field(ge=0, le=100)] = (
        0.0  # off the metric per thousand characters sent for a text
    )
    prompt_model: str | dict[str, Any] | None = (
        None  # who writes prompts (of conf/model); None: the run's own model
    )

    @model_validator(mode="after")
    def _check_writer(self) -> Optimizer:
        if self.prompt_model is not None and not self.writes:
            raise ConfigError(
                f"`optimizer.prompt_model` is set, and optimizer={self.name} asks no model to write"
                f" prompts. Leave it out, or choose one that does: {', '.join(WRITERS)}."
            )
        return self

    def compile(self, work: Work) -> dspy.Module:
        """The optimised program: the best on the validation examples, if the optimiser reads
        any."""
        raise NotImplementedError


class LabeledFewShot(Optimizer):
    """Shows `k` labelled texts, drawn once: `dspy.LabeledFewShot`."""

    name: ClassVar[str] = "labeled_fewshot"
    needs_labels: ClassVar[bool] = True
    k: Count = 8

    def compile(self, work: Work) -> dspy.Module:
        return dspy.LabeledFewShot(k=self.k).compile(work.task, trainset=work.train)


class KnnFewShot(Optimizer):
    """Shows, of the labelled texts to train on, the `k` that are most like what is judged: what
    `dspy.KNNFewShot` does without answers of the judge's own. DSPy's compiles a program anew for
    each text, and leaves none that could be saved and judged by again.
    """

    name: ClassVar[str] = "knn_fewshot"
    needs_labels: ClassVar[bool] = True
    k: Count = 4

    def compile(self, work: Work) -> dspy.Module:
        task = work.task.deepcopy()
        for predictor in task.predictors():
            predictor.demos, predictor.nearest = [*work.train], self.k
        return task


class Bootstrap(Optimizer):
    """Shows the judge's own answers that came close enough, and labelled texts:
    `dspy.BootstrapFewShot`."""

    name: ClassVar[str] = "bootstrap"
    bootstrapped: Count = 4  # own answers at most
    labeled: Some = 8  # of both together at most
    threshold: Share = 0.75  # from which value of the metric on an answer is shown
    rounds: Count = 1  # how often a text is tried

    def compile(self, work: Work) -> dspy.Module:
        return dspy.BootstrapFewShot(work.measure, **self._shown()).compile(
            work.task, trainset=work.train
        )

    def _shown(self) -> dict[str, Any]:
        """What DSPy is told of the demonstrations."""
        most = {
            "max_bootstrapped_demos": self.bootstrapped,
            "max_labeled_demos": self.labeled,
        }
        return most | {"metric_threshold": self.threshold, "max_rounds": self.rounds}


class RandomSearch(Bootstrap):
    """Draws sets of demonstrations and keeps the one that does best on the validation texts:
    `dspy.BootstrapFewShotWithRandomSearch`. Zero-shot, the first labelled texts and an unshuffled
    bootstrap are among the candidates.
    """

    name: ClassVar[str] = "random_search"
    candidates: Count = 6  # further sets that are drawn

    def compile(self, work: Work) -> dspy.Module:
        drawn = {"num_candidate_programs": self.candidates, "num_threads": work.threads}
        optimiser = dspy.BootstrapFewShotWithRandomSearch(
            work.measure, **self._shown(), **drawn
        )
        return optimiser.compile(work.task, trainset=work.train, valset=work.validation)


class Mipro(Optimizer):
    """Proposes instructions and sets of demonstrations and searches their combinations:
    `dspy.MIPROv2`."""

    name: ClassVar[str] = "mipro"
    writes: ClassVar[bool] = True
    candidates: Count = 6  # instructions, and sets of demonstrations, that are proposed
    trials: Count = 12  # combinations that are tried
    # as in `Bootstrap`; both 0 leaves instructions alone to be searched
    bootstrapped: Some = 2
    labeled: Some = 4
    threshold: Share = 0.75
    minibatch: Count | None = None  # validation examples per trial; None: all of them

    def compile(self, work: Work) -> dspy.Module:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        n = len(work.validation)
        size = min(self.minibatch or n, n)
        settings: dict[str, Any] = {
            "max_bootstrapped_demos": self.bootstrapped,
            "max_labeled_demos": self.labeled,
        }
        settings |= {
            "metric_threshold": self.threshold,
            "num_candidates": self.candidates,
            "auto": None,
        }
        trials = {
            "num_trials": self.trials,
            "minibatch": size < n,
            "minibatch_size": size,
        }
        # it would read the source of our modules
        trials |= {"program_aware_proposer": False}
        with warnings.catch_warnings():
            # DSPy uses a part that may change
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            optimiser = dspy.MIPROv2(
                work.measure,
                work.writer,
                **settings,
                num_threads=work.threads,
                seed=work.seed,
            )
            return optimiser.compile(
                work.task, trainset=work.train, valset=work.validation, **trials
            )


class Gepa(Optimizer):
    """Rewrites the instructions after reading what was wrong with judgments: `dspy.GEPA`."""

    name: ClassVar[str] = "gepa"
    writes: ClassVar[bool] = True
    calls: Annotated[int, Field(ge=10, le=1_000_000)] = (
        300  # judgments of examples that it may take
    )
    minibatch: Count = 3  # examples that it reflects on at a time

    def compile(self, work: Work) -> dspy.Module:
        sizes = {
            "max_metric_calls": self.calls,
            "reflection_minibatch_size": self.minibatch,
        }
        settings = {
            "reflection_lm": work.writer,
            "num_threads": work.threads,
            "seed": work.seed,
        }
        optimiser = dspy.GEPA(work.measure.with_feedback, **sizes, **settings)
        return optimiser.compile(work.task, trainset=work.train, valset=work.validation)


class Simba(Optimizer):
    """Adds rules and demonstrations where answers of the same program vary most: `dspy.SIMBA`.

    It reads one set of examples; it is given train and validation together. Raises DataError for
    too few of them.
    """

    name: ClassVar[str] = "simba"
    writes: ClassVar[bool] = True
    batch: Count = 16  # examples per step
    candidates: Count = 4  # new programs per step
    steps: Count = 4
    demonstrations: Some = 4  # at most; 0 for rules alone

    def compile(self, work: Work) -> dspy.Module:
        examples = [*work.train, *work.validation]
        if len(examples) < self.batch:
            raise DataError(
                f"optimizer=simba takes `optimizer.batch`={self.batch} examples a step, and there"
                f" are {len(examples)}."
            )
        sizes = {
            "bsize": self.batch,
            "num_candidates": self.candidates,
            "max_steps": self.steps,
        }
        settings = {
            "max_demos": self.demonstrations,
            "prompt_model": work.writer,
            "num_threads": work.threads,
        }
        optimiser = dspy.SIMBA(metric=work.measure, **sizes, **settings)
        return optimiser.compile(work.task, trainset=examples, seed=work.seed)


class Copro(Optimizer):
    """Proposes instructions, round by round, from those that did best: `dspy.COPRO`. It changes no
    demonstrations."""

    name: ClassVar[str] = "copro"
    writes: ClassVar[bool] = True
    breadth: Annotated[int, Field(ge=2, le=100)] = 5  # instructions per round
    depth: Count = 2  # rounds

    def compile(self, work: Work) -> dspy.Module:
        settings = {"num_threads": work.threads, "display_progress": False}
        optimiser = dspy.COPRO(work.writer, work.measure, self.breadth, self.depth)
        return optimiser.compile(
            work.task, trainset=work.validation, eval_kwargs=settings
        )


class InferRules(Optimizer):
    """Has rules written that follow from labelled texts, and keeps the set of rules that does best
    on the validation texts: `dspy.InferRules`. It changes no demonstrations."""

    name: ClassVar[str] = "infer_rules"
    writes: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = True
    candidates: Count = 4  # sets of rules
    rules: Annotated[int, Field(ge=1, le=100)] = 6  # in each

    def compile(self, work: Work) -> dspy.Module:
        none = {"max_bootstrapped_demos": 0, "max_labeled_demos": 0}
        sizes = {
            "num_candidates": 1,
            "num_rules": self.rules,
            "num_threads": work.threads,
        }
        optimiser = dspy.InferRules(metric=work.measure, max_errors=1, **sizes, **none)
        optimiser.rules_induction_program.teacher_settings = {"lm": work.writer}
        field = work.measure.terms.rubric.score_field
        # Rules are read off the fields of the signature, which call the score otherwise.
        shown = [
            each.copy(**{field: each.score, "level": each.score}) for each in work.train
        ]
        best, most = work.task, -1.0
        for _ in range(self.candidates):
            # DSPy writes the rules into the signature itself, which copies of a program share.
            task = work.task.deepcopy()
            for predictor in task.predictors():
                own = predictor.signature.instructions
                predictor.signature = predictor.signature.with_instructions(own)
            try:
                found = optimiser.compile(task, trainset=shown, valset=work.validation)
            # what DSPy makes of a proposal that cannot be read
            except AssertionError as error:
                raise (error.__context__ or error) from None
            # from the cache
            earned = optimiser.evaluate_program(found, work.validation)
            best, most = (found, earned) if earned > most else (best, most)
        return best


WRITERS = tuple(each.name for each in (Mipro, Gepa, Simba, Copro, InferRules))
OTHERS = tuple(
    each.name for each in (LabeledFewShot, KnnFewShot, Bootstrap, RandomSearch)
)
