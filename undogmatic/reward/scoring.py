"""Makes reward functions of judges: completions in, one number per completion out, whatever the
completions are."""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import Field, ValidationError

from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import OVERALL, Failure, Item, Record, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.safety.extras import lacking
from undogmatic.safety.orders import speaks_to_its_judge
from undogmatic.safety.outside import brief, read_yaml
from undogmatic.safety.paths import conf_folder

if TYPE_CHECKING:
    from undogmatic.api import Choice

logger = logging.getLogger("undogmatic.reward")
Row: TypeAlias = tuple[tuple[str, str], ...]
"""What is judged: the rubric's inputs by name, in their order."""
Outcome: TypeAlias = Verdict | Failure | None
LEVELS = {"low": 0.0, "medium": 0.5, "high": 1.0}
REASONS = {
    "empty": "they are empty",
    "not_text": "they are no text",
    "too_long": "they are longer than `longest` allows",
    "orders": "they speak to whoever judges them",
    "no_input": "an input that the rubric judges besides is not among the columns",
    "no_interval": "the judge gave no interval, which use='lower' needs",
    "no_score": "the judge gave no number",
    "off_scale": "the judge's number is not on the rubric's scale",
    "stopped": "the judge could not go on",
}
"""Why completions get the lowest reward; what else is counted is a judge's reason for a failure
(`FailureKind`)."""
OF_THE_TEXT = ("empty", "not_text", "too_long", "orders", "no_input")
"""Reasons that lie in the completion, whoever judges it."""


class Options(Record):
    """What may be set of a reward; see `reward`."""

    use: Literal["score", "lower"] = "score"
    doubt_penalty: float = Field(default=0.0, ge=0, le=1)
    longest: int = Field(default=20_000, ge=1)
    remember: int = Field(default=10_000, ge=0)
    completion: str | None = None
    columns: dict[str, str] = Field(default_factory=dict)


class Reward:
    """A reward function, made by `reward`: `f(completions, **kwargs)` gives a number per
    completion.

    Attributes:
        one: The same for a single completion, `f.one(completion, **kwargs)`, as `verifiers` calls
            its functions.
        ends: The lowest and the highest reward.
        counts: How many completions were scored ("scored"), and how many got the lowest reward, by
            reason.
    """

    def __init__(
        self,
        judge: Callable[[Sequence[Row]], Sequence[Outcome]],
        rubric: Rubric,
        options: Options,
    ) -> None:
        if rubric.direction is None:
            what = f"rubric={rubric.name} has categories without an order ({rubric.scale.span()})"
            raise ConfigError(
                f"{what}, so no score of it is better than another. Choose one with a `direction`."
            )
        self.judge, self.rubric, self.options = judge, rubric, options
        self.__name__ = re.sub(r"\W", "_", f"{rubric.name}_reward")
        self.one = One(self)
        self.worse = rubric.direction == "higher_is_worse"
        self.ends = (-1.0, 0.0) if self.worse else (0.0, 1.0)
        self.counts: Counter[str] = Counter()
        self._own = _own_input(rubric, options)
        self._kept: dict[Row, float | str] = {}
        # what a judge said of its first failure of a kind
        self._said: dict[str, str] = {}

    def __call__(self, completions: Sequence[Any], **kwargs: Any) -> list[float]:
        """Give the reward of every completion, in their order.

        Args:
            completions: Texts, or conversations, of which the assistant's last message counts.
            kwargs: Columns with a value per completion, of which a rubric with several inputs reads
                its own.
        """
        found = self.found(completions, **kwargs)
        for reason in (
            value if isinstance(value, str) else "scored" for value in found
        ):
            if reason not in self.counts and reason != "scored":
                why = (
                    REASONS.get(reason)
                    or f"the judge gave none ({self._said.get(reason, reason)})"
                )
                logger.warning(
                    f"{self.__name__}: completions get the lowest reward, {self.ends[0]:g}, because"
                    f" {why}."
                )
            self.counts[reason] += 1
        return [self.ends[0] if isinstance(value, str) else value for value in found]

    def found(self, completions: Sequence[Any], **kwargs: Any) -> list[float | str]:
        """What a call gives, with the reason where it gives the lowest reward for one; nothing is
        counted."""
        if isinstance(completions, str | Mapping):
            raise DataError(
                f"{self.__name__} takes a list of completions; for one alone:"
                f" {self.__name__}.one(...)."
            )
        rows = [
            self._row(completion, place, kwargs)
            for place, completion in enumerate(completions)
        ]
        new = dict.fromkeys(
            row for row in rows if not isinstance(row, str) and row not in self._kept
        )
        fresh: dict[Row, float | str] = {
            # Not even shown to the judge: what is trained on a reward finds out before
            # long that a text can tell its judge what to say.
            row: "orders"
            for row in new
            if speaks_to_its_judge(dict(row)[self._own])
        }
        asked = [row for row in new if row not in fresh]
        fresh |= zip(asked, map(self._value, self._judged(asked)), strict=True)
        values = [
            row
            if isinstance(row, str)
            else fresh[row]
            if row in fresh
            else self._kept[row]
            for row in rows
        ]
        self._kept |= {
            row: value
            for row, value in fresh.items()
            # A failure of the judge is not kept: the same text may well be judged the
            # next time, and must not have the lowest reward for good.
            if not isinstance(value, str) or value == "orders"
        }
        if len(self._kept) > self.options.remember:
            self._kept.clear()
        return values

    def _row(self, completion: Any, place: int, kwargs: Mapping[str, Any]) -> Row | str:
        """What is to be judged of a completion, or the reason why nothing is."""
        row = []
        for name in self.rubric.inputs:
            if name == self._own:
                text = text_of(completion)
                if problem := self._problem(text):
                    return problem
            else:
                column = kwargs.get(self.options.columns.get(name, name))
                there = isinstance(column, list | tuple) and place < len(column)
                text = (
                    text_of(column[place], "user")
                    if column is not None and there
                    else None
                )
                if self._problem(text) in ("not_text", "empty"):
                    if name not in self.rubric.optional:
                        return "no_input"
                    continue
            row.append((name, str(text)))
        return tuple(row)

    def _problem(self, text: str | None) -> str | None:
        # halves of a sign are no text
        if text is None or any("\ud800" <= sign <= "\udfff" for sign in text):
            return "not_text"
        if not text.strip():
            return "empty"
        return "too_long" if len(text) > self.options.longest else None

    def _judged(self, rows: Sequence[Row]) -> Sequence[Outcome]:
        try:
            outcomes = list(self.judge(rows)) if rows else []
            if len(outcomes) == len(rows):
                return outcomes
            problem = f"it gave {len(outcomes)} scores of {len(rows)} texts"
        except Exception as error:
            # a training of days must not end because a batch could not be judged
            logger.debug("a batch could not be judged", exc_info=True)
            problem = f"{type(error).__name__}: {error}"[:500]
        return [Failure(reason="fault", message=problem)] * len(rows)

    def _value(self, outcome: Outcome) -> float | str:
        """The reward of an outcome, or the reason why it is the lowest."""
        if outcome is None:
            return "stopped"
        if isinstance(outcome, Failure):
            self._said.setdefault(
                outcome.reason, f"{outcome.reason}: {outcome.message}"
            )
            return outcome.reason
        score, lowest, highest = outcome.score, self.rubric.minimum, self.rubric.maximum
        if score is None or not math.isfinite(score):
            return "no_score"
        # Not drawn to the end of the scale: a number beyond it is of another scale, and
        # as a reward it would be the highest of all.
        if not lowest - 1e-9 <= score <= highest + 1e-9:
            return "off_scale"
        if self.options.use == "lower":
            if outcome.interval is None:
                return "no_interval"
            score = outcome.interval[1 if self.worse else 0]
        share = min(1.0, max(0.0, (score - lowest) / (highest - lowest)))
        doubt = doubt_of(outcome) if self.options.doubt_penalty else 0.0
        penalty = self.options.doubt_penalty * (1.0 if doubt is None else doubt)
        # No lower than what has no score at all: else to fail would pay better than to
        # be judged with doubt.
        return max(self.ends[0], (-share if self.worse else share) - penalty)

    def try_out(self) -> None:
        """Have one sentence judged. Raises ConfigError where the judge does not give what the
        options need."""
        [outcome] = self.judge(
            [tuple((name, "Uma frase.") for name in self.rubric.inputs)]
        )
        if not isinstance(outcome, Verdict):
            why = (
                "it stopped"
                if outcome is None
                else f"{outcome.reason}: {outcome.message}"
            )
            raise ConfigError(
                f"the judge gave no score of a first sentence ({why}). Try the judge: undogmatic"
                " score"
            )
        needs = {
            "use": ("score", outcome.interval, "an interval"),
            "doubt_penalty": (0, doubt_of(outcome), "a doubt"),
        }
        for key, (without, given, what) in needs.items():
            if (value := getattr(self.options, key)) != without and given is None:
                way = f"Leave `{key}` out, or choose a judge that gives it, e.g. model=local."
                raise ConfigError(
                    f"`{key}` is {value!r}, which needs {what}, and this judge gives none. {way}"
                )


class One:
    """A reward function for a single completion."""

    def __init__(self, many: Reward) -> None:
        self.many, self.__name__ = many, many.__name__

    def __call__(self, completion: Any, **kwargs: Any) -> float:
        """Give the reward of one completion; `kwargs` have one value each (`prompt` also goes by
        `prompts`)."""
        columns = {
            name: [value]
            for name, value in ({"prompts": kwargs.get("prompt")} | kwargs).items()
        }
        return self.many([completion], **columns)[0]


class Composed:
    """Judges completions with a composed config."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        from undogmatic.api import KeptJudge

        self.kept = KeptJudge(config)
        parts = self.kept.parts
        self.rubric = parts.rubric
        wanted = [pair for pair in parts.expected() if pair[1] == OVERALL]
        if not wanted or parts.steps:
            key = "steps" if parts.steps else "judge"
            raise ConfigError(
                f"`{key}`: a reward needs a judge that gives one score of a text as it is."
            )
        self.of = wanted[0]

    def __reduce__(self) -> tuple[type[Composed], tuple[Mapping[str, Any]]]:
        return Composed, (self.kept.recipe.config,)

    def __call__(self, rows: Sequence[Row]) -> list[Outcome]:
        """What the judge says of each; None where it was stopped before."""
        items = [
            Item(id=f"completion {place}", inputs=dict(row))
            for place, row in enumerate(rows)
        ]
        judgments, stopped_by = self.kept.judged(items)
        if stopped_by is not None:
            logger.warning(f"the judge stopped: {stopped_by}")
        outcomes = {
            judgment.item_id: judgment.outcome
            for judgment in judgments
            if (judgment.judge, judgment.criterion) == self.of
        }
        return [outcomes.get(item.id) for item in items]


def plain(model: Any, several: bool) -> Callable[[Sequence[Row]], list[Outcome]]:
    """A judge out of a function of texts (of mappings, where there are several inputs), or an
    object with a method `score`, that gives numbers, None, or what has a `score` and an `interval`.
    """
    # a student says its scores with their intervals
    placed = getattr(model, "placed", None)
    score = getattr(model, "score", model)

    def outcome(said: Any) -> Outcome:
        if isinstance(said, Verdict | Failure):
            return said
        value, interval = getattr(said, "score", said), getattr(said, "interval", None)
        if value is None or not math.isfinite(value):
            return Failure(reason="unparseable", message=f"the judge gave {value}")
        return Verdict(
            score=float(value),
            interval=interval and (float(interval[0]), float(interval[1])),
        )

    def judge(rows: Sequence[Row]) -> list[Outcome]:
        texts = [dict(row) if several else row[0][1] for row in rows]
        if placed is None:
            return [outcome(said) for said in score(texts)]
        scores, (low, high) = placed(texts)[:2]
        found = [outcome(value) for value in scores]
        pairs = zip(found, zip(low, high, strict=True), strict=True)
        return [
            one.replace(interval=(float(a), float(b)))
            if isinstance(one, Verdict)
            else one
            for one, (a, b) in pairs
        ]

    return judge


def reward(
    rubric: Choice | Rubric = None,
    model: Any = None,
    *,
    judge: Choice = None,
    prompt: Choice = None,
    readout: Choice = None,
    overrides: Sequence[str] = (),
    config_dir: str | Path | Sequence[str | Path] = (),
    **options: Any,
) -> Reward:
    """Make a reward function for TRL's GRPO and its like of a rubric and a judge.

    The reward is (score - minimum) / (maximum - minimum) of the rubric's scale, and its negative
    where a high score is worse: from 0 to 1, or from -1 to 0. What could not be scored gets the
    lowest reward, never a neutral one.

    Args:
        rubric, model, judge, prompt, readout, overrides, config_dir: As in `undogmatic.judge`.
        `model` also takes a
            function of texts, or an object with a method `score`, which needs no more than the
            light installation.
        options: use: "score", or "lower" for the confidence limit on the side of the lower reward.
            doubt_penalty: Is taken off times the doubt, 1 less the judge's confidence (or 0, 0.5, 1
            by its level). longest: Characters beyond which a text is not judged. remember: So many
            rewards are kept by text. completion: Which of several inputs is the completion.
            columns: Input -> keyword that brings its values.
    Raises:
        ConfigError: A name, an option or a value is wrong, or the judge does not give what the
            options need.
    """
    try:
        chosen = Options(**options)
    except ValidationError as error:
        problem = error.errors()[0]
        name, known = str(problem["loc"][0]), ", ".join(Options.model_fields)
        if problem["type"] == "extra_forbidden":
            raise ConfigError(
                f"`{name}` is no option of a reward. There are: {known}."
            ) from None
        what = f"`{name}` is {brief(options[name])}: {problem['msg']}"
        raise ConfigError(
            f"{what}. help(undogmatic.reward.reward) says what is allowed."
        ) from None
    if callable(model) or hasattr(model, "score"):
        named = _shipped(rubric)
        if hasattr(model, "check"):  # a student knows the rubric that it was fitted for
            model.check(named)
        made = Reward(plain(model, len(named.inputs) > 1), named, chosen)
    else:
        choices = {
            "judge": judge,
            "rubric": rubric,
            "model": model,
            "prompt": prompt,
            "readout": readout,
        }
        judged = _composed(choices, overrides, config_dir)
        made = Reward(judged, judged.rubric, chosen)
    if chosen.use == "lower" or chosen.doubt_penalty:
        made.try_out()
    return made


def _composed(
    choices: Mapping[str, Any], overrides: Sequence[str], folders: Any
) -> Composed:
    try:
        from undogmatic.api import chosen, scoring_config

        words = [
            word for group, choice in choices.items() for word in chosen(group, choice)
        ]
        config = scoring_config([*words, *overrides], folders)
        if isinstance(choices["rubric"], Rubric):
            config["rubric"] = {"_target_": "undogmatic.records.rubric.Rubric"}
            config["rubric"] |= choices["rubric"].model_dump(mode="json")
        return Composed(config)
    except ModuleNotFoundError as error:
        if (sentence := lacking(error, "undogmatic.reward.reward")) is None:
            raise
        raise ImportError(
            f"{sentence} A `model` that is a function needs nothing more."
        ) from None


def _shipped(rubric: Any) -> Rubric:
    """A rubric, one that ships by its name, or one in a file, without composing a config."""
    if isinstance(rubric, Rubric):
        return rubric
    folder = conf_folder() / "rubric"
    named = rubric if isinstance(rubric, str) else ""
    path = (
        Path(named) if named.endswith((".yaml", ".yml")) else folder / f"{named}.yaml"
    )
    if not path.is_file():
        there = ", ".join(
            sorted(
                p.relative_to(folder).with_suffix("").as_posix()
                for p in folder.rglob("*.yaml")
            )
        )
        raise ConfigError(
            f"`rubric` is {brief(rubric)}; with a function as `model` it is a file or one of:"
            f" {there}."
        )
    fields: Any = read_yaml(path)
    try:
        return Rubric.model_validate(
            {
                key: value
                for key, value in fields.items()
                if key not in ("_target_", "defaults")
            }
        )
    except (ValidationError, AttributeError) as error:
        raise ConfigError(
            f"{path} is no rubric: {brief(str(error))}. docs/add_your_own.md shows one."
        ) from None


def _own_input(rubric: Rubric, options: Options) -> str:
    """The input of the rubric that a completion is. Raises ConfigError where that is open, or a
    name is unknown."""
    needed = [name for name in rubric.inputs if name not in rubric.optional] or list(
        rubric.inputs
    )
    own = options.completion or (needed[0] if len(needed) == 1 else None)
    known = ", ".join(rubric.inputs)
    if own is None or own not in rubric.inputs:
        given = "is not given" if own is None else f"is {own!r}"
        raise ConfigError(
            f"`completion` {given}; it says which input of rubric={rubric.name} is judged: {known}."
        )
    if unknown := sorted(set(options.columns) - (set(rubric.inputs) - {own})):
        raise ConfigError(
            f"`columns` names {unknown[0]!r}, which is no other input of rubric={rubric.name}:"
            f" {known}."
        )
    return own


def text_of(completion: Any, role: str = "assistant") -> str | None:
    """The text of a completion: itself, or what the last message of this role says; None where
    there is none."""
    if isinstance(completion, list | tuple):
        completion = next(
            (one for one in reversed(completion) if _field(one, "role") == role), None
        )
        completion = _field(completion, "content")
        # in parts, of which pictures have no text
        if isinstance(completion, list | tuple):
            completion = "".join(
                part
                for one in completion
                if isinstance(part := _field(one, "text"), str)
            )
    return completion if isinstance(completion, str) else None


def _field(message: Any, name: str) -> Any:
    return (
        message.get(name)
        if isinstance(message, Mapping)
        else getattr(message, name, None)
    )


def doubt_of(verdict: Verdict) -> float | None:
    """The doubt of a verdict from 0 to 1: by its confidence, else by its level of uncertainty; None
    without either."""
    if verdict.confidence is not None:
        return 1 - verdict.confidence / 100
    return None if verdict.uncertainty is None else LEVELS[verdict.uncertainty]
