"""Holds a trust card, or a run, against what a gate demands: figures by their limits, the standing,
digests and age.

A threshold is held against the limit of the interval, never against the value: one that lies
between the limits is undecided. Several requirements need no correction, as all of them must be met
(intersection-union).
"""

from __future__ import annotations

import datetime
import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations import drift
from undogmatic.examinations.figure_range import (
    Range,
    as_held,
    cannot_fail,
    holds_its_value,
    is_interval,
    range_of,
)
from undogmatic.examinations.kinds import HEADLINES, agreement, label_command
from undogmatic.examinations.ruling import (
    Facts,
    Rule,
    Rules,
    Ruling,
    Values,
    always,
    verdict,
)
from undogmatic.records.card import (
    Digests,
    TrustCard,
    read_card,
    setting,
    table_digests,
)
from undogmatic.records.checked import CheckOptions
from undogmatic.records.records import Record, first_problem
from undogmatic.records.results import Finding, Standing
from undogmatic.records.wordings import texts_noted
from undogmatic.runs.folder import COMPOSED, MANIFEST, METRICS, RunFolder
from undogmatic.safety.outside import brief, read_yaml
from undogmatic.stats import limits
from undogmatic.stats.estimate import Estimate, Unit

CONFIG = "undogmatic-gate.yaml"
EXAMPLE = "figures: {agreement.kappa: {at_least: 0.6}}"
STATUS = {"pass": 0, "fail": 1, "undecided": 2, "void": 3}
"""Of each outcome the exit status of the command."""
# Four outcomes, and not two: a pipeline that stops for want of data must be told apart
# from one that stops because the judge is bad.
OUTCOMES: Mapping[Standing | None, str] = {
    "supported": "pass",
    "refuted": "fail",
    "undecided": "undecided",
    None: "void",
}
INSTRUMENT = "instrument."
"""How the figures of an instrument test begin, which come from its own texts and no labels."""
# days, for which a card may be at most: an age beyond that could not fail
OLDEST = 3650
_DIGEST = Field(
    default=None,
    pattern="^[0-9a-f]{8,64}$",
    description="SHA-256 in hex, or its beginning",
)


def _limit(facts: LimitFacts) -> Values:
    return {
        "figure": facts.figure,
        "value": facts.shown.value,
        "interval": facts.shown.interval,
        "counted": facts.counted,
        "bound": facts.bound,
    }


def _limit_settled(facts: LimitFacts) -> Values:
    return _limit(facts) | {"settle": facts.settle}


AT_LEAST: Rules[LimitFacts] = Rules(
    "gate.at_least_",
    (
        # The limit counts, as an estimate above the threshold by chance would let half
        # of all judges at the threshold pass.
        Rule("pass", "supported", lambda f: f.shown.low >= f.bound, _limit),
        Rule("fail", "refuted", lambda f: f.shown.high < f.bound, _limit),
        Rule("undecided", "undecided", always, _limit_settled),
    ),
)
AT_MOST: Rules[LimitFacts] = Rules(
    "gate.at_most_",
    (
        Rule("pass", "supported", lambda f: f.shown.high <= f.bound, _limit),
        Rule("fail", "refuted", lambda f: f.shown.low > f.bound, _limit),
        Rule("undecided", "undecided", always, _limit_settled),
    ),
)


def _stands(facts: StandsFacts) -> Values:
    return {"name": facts.name, "by": facts.by}


STANDS: Rules[StandsFacts] = Rules(
    "gate.standing_",
    (
        Rule(
            "pass",
            "supported",
            lambda f: f.standing == "supported",
            lambda f: (
                _stands(f)
                | {"in_order": f.in_order, "limits": f.limits, "within": f.within}
            ),
        ),
        Rule("fail", "refuted", lambda f: f.standing == "refuted", _stands),
        Rule(
            "undecided",
            "undecided",
            always,
            lambda f: _stands(f) | {"settle": f.settle},
        ),
    ),
)
RUN_STANDS = replace(STANDS, prefix="gate.of_run_")
PROMISED_BEFORE = ("alone.share", "alone.agreement")
"""The figures that tell what a judge may decide alone, if it may be believed, on cards that were
made before a card named them itself (`TrustCard.promises`)."""


@dataclass(frozen=True)
class PromisedFacts:
    """Holds a figure that lets a judge decide alone, how the verdict left the claim that it may be
    believed, and what says more of it."""

    figure: str
    standing: Standing
    settle: Finding


PROMISED = Rules[PromisedFacts](
    "gate.promise_",
    (
        Rule(
            "fail",
            "refuted",
            lambda f: f.standing == "refuted",
            lambda f: {"figure": f.figure},
        ),
        Rule(
            "undecided",
            "undecided",
            always,
            lambda f: {"figure": f.figure, "settle": f.settle},
        ),
    ),
)
"""In place of what is said of such a figure, of a judge that was not shown to deserve belief."""


@dataclass(frozen=True)
class ChangeFacts:
    """Holds how far a card's judge agrees with people on it, and in a newer file."""

    name: str
    file: str
    figure: str
    before: Estimate
    now: Estimate
    n: int
    change: Estimate


def _before_and_now(facts: ChangeFacts) -> Values:
    return {
        "name": facts.name,
        "file": facts.file,
        "figure": facts.figure,
        "before": facts.before.value,
        "before_interval": facts.before.interval,
        "after": facts.now.value,
        "after_interval": facts.now.interval,
        "n": facts.n,
        "change": facts.change.value,
        "interval": facts.change.interval,
        "level": facts.change.level,
    }


DRIFT: Rules[ChangeFacts] = Rules(
    "gate.drift_",
    (
        Rule(
            "fail",
            "refuted",
            lambda f: f.change.against(0) == "against",
            _before_and_now,
        ),
        Rule("undecided", "undecided", lambda f: f.change.high < 0, _before_and_now),
        Rule("pass", "supported", always, _before_and_now),
    ),
)
"""Does a card's judge agree with people less in a newer file? A change that missing verdicts could
undo is undecided."""


def _counts(outcome: str) -> Callable[[GateResult], Values]:
    return lambda result: {"name": result.name, "which": result.which(outcome)}


GATE: Rules[GateResult] = Rules(
    "gate.verdict_",
    (
        Rule("broken", None, lambda f: f.why, lambda f: {"why": f.why}),
        Rule("void", None, lambda f: f.count("void"), _counts("void")),
        Rule("fail", "refuted", lambda f: f.count("fail"), _counts("fail")),
        Rule(
            "undecided",
            "undecided",
            lambda f: f.count("undecided"),
            _counts("undecided"),
        ),
        Rule("pass", "supported", always, _counts("pass")),
    ),
)
"""Does a trust card, or a run, pass a gate? What is void says nothing of the judge at all."""


def _number(given: Any) -> Any:
    """A number as YAML gives it: `at_least: yes` is true, which would count as 1, and a number in
    quotes is a text."""
    # YAML reads `yes` and `on` as true, and Python counts true as 1.
    if isinstance(given, bool | str):
        raise ValueError("it must be a number, without quotes")
    return given


class Threshold(Record):
    """What a figure must reach with its lower limit, and must not exceed with its upper one."""

    at_least: Annotated[float | None, BeforeValidator(_number)] = None
    at_most: Annotated[float | None, BeforeValidator(_number)] = None

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        # A demand without a limit is met by everything, and a gate that cannot fail is
        # worse than none.
        if self.at_least is None and self.at_most is None:
            raise ValueError("it sets neither at_least nor at_most")
        if (
            self.at_least is not None
            and self.at_most is not None
            and self.at_least > self.at_most
        ):
            raise ValueError("at_least lies above at_most, so nothing can meet it")
        return self


class GateConfig(Record):
    """What a gate demands.

    `judge` are settings that the judge must have (model, prompt, ...), `labels` and `items` the
    digests of what it was checked on; where they differ, or the card is older than `max_age_days`,
    the card is void. `drift` is a file of newer verdicts and labels, beside the gate's file: the
    judge may not be shown to agree with people less there than on the card.
    """

    figures: dict[str, Threshold] = Field(default_factory=dict)
    standing: Literal["supported"] | None = None
    drift: str | None = Field(default=None, min_length=1)
    judge: dict[str, str | bool | int | float] = Field(default_factory=dict)
    labels: str | None = _DIGEST
    items: str | None = _DIGEST
    max_age_days: Annotated[int | None, BeforeValidator(_number)] = Field(
        default=None, ge=1, le=OLDEST
    )

    @model_validator(mode="after")
    def _can_fail(self) -> Self:
        # An empty file, or one with a key that was mistyped as a comment, would pass
        # every judge.
        if not self.figures and self.standing is None and self.drift is None:
            raise ValueError(
                f"it demands nothing, so it could not fail. Demand something, e.g. {EXAMPLE}, or"
                " standing: supported"
            )
        return self


def read_gate(path: Path) -> GateConfig:
    """What a YAML file demands, at its top or under `gate`. Raises ConfigError, DataError."""
    told = read_yaml(path)
    block = (
        told["gate"] if isinstance(told, Mapping) and set(told) == {"gate"} else told
    )
    if block is not None and not isinstance(block, Mapping):
        raise ConfigError(f"{path}: it must hold settings, e.g. {EXAMPLE}")
    try:
        return GateConfig(**{str(key): value for key, value in (block or {}).items()})
    except ValidationError as error:
        place = error.errors()[0]["loc"]
        allowed = (
            Threshold.model_fields
            if place[:1] == ("figures",) and len(place) > 1
            else GateConfig.model_fields
        )
        hint = (
            close[0]
            if (close := get_close_matches(str(place[-1]) if place else "", allowed, 1))
            else ""
        )
        hint = f" Did you mean `{hint}`?" if hint and hint != place[-1] else ""
        listed = ", ".join(allowed)
        end = "" if (said := first_problem(error)).endswith(".") else "."
        raise ConfigError(
            f"{path}: {said}{end}{hint} Keys{' of a figure' * ('at_most' in allowed)}: {listed}."
            f" E.g. {EXAMPLE}"
        ) from None


@dataclass(frozen=True)
class Gated:
    """What is held against a gate, of a card or of a run: the judge's `name`, its figures by their
    limits (None: a figure without an interval), standings, settings, the digests it is bound to,
    and how long it holds.
    """

    name: str
    figures: Mapping[str, Estimate | None]
    standings: Mapping[str, Standing]
    settings: Mapping[str, str]
    verdicts: str
    labels: str
    items: str
    made: datetime.date
    expires: datetime.date | None = None
    status: str = "finished"
    # language -> what a point of the score is called
    units: Mapping[str, str] = field(default_factory=dict)
    texts: tuple[Path, ...] = ()  # the files with the words of its figures
    # what the card was made from: its first file, or a run's folder
    source: str = "FILE"
    # the name of a card's judge, and the criterion
    known: Mapping[str, str] = field(default_factory=dict)
    # name of a standing -> the figure that sums it up
    headline: Mapping[str, str] = field(default_factory=dict)
    items_labelled: int = 0  # items with verdict and label of a card
    limits: tuple[str, ...] = ()  # what limits the use of a card's judge, in sentences
    # whether a card says that the order may be believed, and nothing of the grades
    in_order: bool = False
    span: float | None = (
        None  # how far apart two values of the scale may lie, where they are numbers
    )
    # the figures that tell what a card's judge may decide alone, if it may be believed
    promises: tuple[str, ...] = ()
    # the same of the scores of an instrument test, which are on a scale of their own
    span_of_test: float | None = None
    # names of figures that an instrument test did not examine
    not_examined: frozenset[str] = frozenset()
    # examinations that a card says to be left out (`TrustCard`)
    unasked: tuple[str, ...] = ()
    # the figures whose value lies outside their own interval
    odd: frozenset[str] = frozenset()

    def range(self, name: str) -> Range | None:
        """What the figure of this name can be; None where that is not known."""
        of_test = name.startswith(INSTRUMENT) and not self.is_run
        return range_of(name, self.span_of_test if of_test else self.span)

    @property
    def is_run(self) -> bool:
        """Whether it is a run rather than a card, which alone expires."""
        return self.expires is None

    def counted(self, name: str) -> Finding:
        """The clause that says from how many items the interval of a figure comes, and at which
        level."""
        figure = self.figures[name]
        assert figure is not None, (
            "figures without an interval are not held against anything"
        )
        values: dict[str, Any] = {
            "n": figure.n,
            "groups": figure.n_groups,
            "level": figure.level,
        }
        if self.is_run or name.startswith(INSTRUMENT):
            return Finding(
                "gate.counted_run" if figure.n else "gate.counted_unknown", values
            )
        # Where verdicts are missing, the limits that are held are those in which they
        # speak against the demand, and the sentence says so.
        whole = figure.interval == (figure.worst_low, figure.best_high)
        items = self.items_labelled
        labels = name.startswith("agreement.") and figure.n > self.items_labelled > 0
        what = "labels" if labels else "items" if figure.n == items else "either"
        values["counts"] = Finding(
            f"gate.counts_{what}",
            {"n": figure.n, "groups": figure.n_groups, "items": items},
        )
        return Finding("gate.counted" if whole else "gate.counted_missing", values)


def of_card(card: TrustCard) -> Gated:
    """A card as a gate reads it."""
    digests = card.digests
    standings: dict[str, Standing] = {card.judge: card.standing}
    bound = (
        card.settings,
        digests.verdicts,
        digests.labels,
        digests.items,
        card.made,
        card.expires,
    )
    source = next(iter(card.data.files), "FILE")
    headline = f"agreement.{HEADLINES[card.data.kind]}"
    more: dict[str, Any] = {"source": source, "headline": {card.judge: headline}}
    more["known"] = {"name": setting(card.judge), "criterion": setting(card.criterion)}
    more |= {
        "items_labelled": card.data.n,
        "limits": card.limits,
        "in_order": card.data.kind == "numeric",
    }
    more |= {"span": card.data.span, "odd": _odd(card.figures), "unasked": card.unasked}
    # None: a card from before cards named their promises.
    more["promises"] = PROMISED_BEFORE if card.promises is None else card.promises
    figures = {name: as_held(name, figure) for name, figure in card.figures.items()}
    if card.instrument is not None:
        shown = card.instrument.shown
        lacking = (name for name, word in shown.items() if word == "not_examined")
        more["span_of_test"] = card.instrument.span
        more["not_examined"] = frozenset(f"instrument.cue.{name}" for name in lacking)
    return Gated(card.judge, figures, standings, *bound, **more)


def _odd(figures: Mapping[str, Estimate | None]) -> frozenset[str]:
    return frozenset(
        name
        for name, each in figures.items()
        if each is not None and not holds_its_value(each)
    )


def of_run(path: str) -> Gated:
    """A run's folder as a gate reads it: its metrics with their limits, and the standings of its
    verdicts. The digest of its items covers their labels. Raises ConfigError, DataError."""
    folder = RunFolder.open(path, "RUN", (MANIFEST, METRICS))
    facts, metrics = folder.facts, folder.metrics
    figures: dict[str, Estimate | None] = {}
    told: Mapping[str, Unit] = facts.get("units") or {}
    for name, value in metrics.items():
        low = metrics.get(f"{name}_low", -math.inf)
        high = metrics.get(f"{name}_high", math.inf)
        limited = not math.isnan(value) and not {
            f"{name}_low",
            f"{name}_high",
        }.isdisjoint(metrics)
        n, groups = (_of_analysis(metrics, name, what) for what in ("judged", "groups"))
        # A run's metrics are numbers by name; whatever has both limits beside it is an
        # estimate again.
        estimate = Estimate(
            value, low, high, n_groups=groups, n=n, unit=told.get(name, "")
        )
        figures[name] = as_held(name, estimate) if limited else None
    settings = {**facts.get("choices", {}), "model_name": facts.get("model", "")}
    made = _day_of(facts.get("ended") or facts.get("started") or 0, path)
    digest, status = str(facts.get("dataset_digest", "")), str(facts.get("status", ""))
    known = {key: setting(value) for key, value in settings.items()}
    standings = facts.get("standing") or {}
    wordings = folder.noted(COMPOSED, "rubric", "wordings")
    units = {
        str(code): str(own.get("unit") or "")
        for code, own in (wordings or {}).items()
        if isinstance(own, dict)
    }
    bound = (known, "", digest, digest, made)
    texts = tuple(
        text for text in map(texts_noted, facts.get("texts", ())) if text.is_file()
    )
    shown = str(facts.get("headline", ""))
    headline = {name: shown for name in standings if shown.startswith(f"{name}.")}
    more: dict[str, Any] = {
        "status": status,
        "units": units,
        "texts": texts,
        "source": path,
        "headline": headline,
    }
    more |= {
        "span": _span_of(folder.noted(COMPOSED, "rubric", "scale")),
        "odd": _odd(figures),
    }
    return Gated(str(facts.get("name", path)), figures, standings, *bound, **more)


def _day_of(moment: Any, path: str) -> datetime.date:
    """The day of a moment in seconds since 1970, by the clock that cards go by. Raises
    DataError."""
    try:
        return datetime.datetime.fromtimestamp(moment, datetime.UTC).date()
    except (ArithmeticError, OSError, ValueError):
        raise DataError(
            f"{path}: {MANIFEST} says that the run ended at {brief(moment)}, which is no moment."
        ) from None


def _span_of(scale: Any) -> float | None:
    """How far apart two values of a rubric's scale may lie; None where it is none of numbers."""
    if not isinstance(scale, dict):
        return None
    low, high = scale.get("minimum"), scale.get("maximum")
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        return None
    return float(high - low)


def _of_analysis(metrics: Mapping[str, float], name: str, what: str) -> int:
    """How many texts or groups the analysis had that a metric belongs to; 0 where it does not
    say."""
    parts = name.split(".")
    beginnings = (".".join(parts[:n]) for n in range(len(parts) - 1, 0, -1))
    return int(
        next(
            (
                metrics[key]
                for each in beginnings
                if (key := f"{each}.{what}") in metrics
            ),
            0,
        )
    )


class Held(NamedTuple):
    """One requirement, what came of it ("pass", "fail", "undecided", "void"), the sentence that
    says so, and the figure that was held against something, if it was one."""

    name: str
    outcome: str
    finding: Finding
    figure: Estimate | None = None


@dataclass(frozen=True)
class GateResult:
    """Whether what was held against a gate passes it: each requirement, and all together
    (`ruling`); `notes` say what the gate did not compare."""

    name: str
    held: Sequence[Held]
    notes: tuple[Finding, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    texts: tuple[Path, ...] = ()

    def which(self, outcome: str) -> Finding:
        """The clause that says which of the requirements came to this: "both requirements", "2 of 3
        requirements"."""
        n, total = self.count(outcome), self.total
        share = "some" if n < total else {1: "only", 2: "both"}.get(total, "all")
        return Finding(f"gate.which_{share}", {"n": n, "total": total})

    def count(self, outcome: str) -> int:
        """How many requirements came to this."""
        return sum(each.outcome == outcome for each in self.held)

    @property
    def why(self) -> str:
        """What is wrong where card, run or gate cannot be read; else ""."""
        return next(
            (
                str(each.finding.values["why"])
                for each in self.held
                if each.finding.key == "gate.broken"
            ),
            "",
        )

    @property
    def total(self) -> int:
        """How many requirements there are."""
        return len(self.held)

    @cached_property
    def ruling(self) -> Ruling[GateResult]:
        """The first line."""
        return verdict(GATE, self)

    @property
    def outcome(self) -> str:
        """What came of it: "pass", "fail", "undecided" or "void"."""
        return OUTCOMES[self.ruling.standing]

    @property
    def status(self) -> int:
        """The exit status of the command."""
        return STATUS[self.outcome]


def broken(name: str, why: object) -> GateResult:
    """The result where card, run or gate cannot be read."""
    return GateResult(
        name, [Held("readable", "void", Finding("gate.broken", {"why": str(why)}))]
    )


def hold(
    gated: Gated,
    config: GateConfig,
    settings: Mapping[str, Any] | None = None,
    digests: Digests | None = None,
    today: datetime.date | None = None,
    drifted: Sequence[Held] = (),
) -> GateResult:
    """Hold a card or a run against a gate.

    Args:
        gated: The card or the run.
        config: What is demanded.
        settings: Of the judge that runs now, besides those of the config.
        digests: Of the labels and items there are now.
        today: The day for which it is to hold; None: today.
        drifted: What came of a newer file, where the config names one.
    """
    given = [*config.judge.items(), *(settings or {}).items()]
    held = [
        *_voids(
            gated,
            config,
            given,
            digests,
            today or datetime.datetime.now(datetime.UTC).date(),
        )
    ]
    if config.standing is not None:
        standings = gated.standings or {gated.name: "undecided"}
        rules = RUN_STANDS if gated.is_run and gated.standings else STANDS
        held += [
            _ruled("standing", verdict(rules, StandsFacts(*stands, gated)))
            for stands in standings.items()
        ]
    for name, threshold in config.figures.items():
        if (figure := gated.figures.get(name)) is None:
            key = "gate.no_interval" if name in gated.figures else "gate.no_figure"
            key = "gate.not_examined" if name in gated.not_examined else key
            known = [
                other for other, limited in gated.figures.items() if limited is not None
            ]
            held.append(
                Held(
                    name,
                    "void",
                    Finding(key, {"figure": name, "known": ", ".join(known) or "—"}),
                )
            )
            continue
        # A limit outside of what the figure can be, such as kappa of at least -1, is
        # always met.
        if void := [*_senseless(name, threshold, figure, gated)]:
            held += void
            continue
        # What a judge may decide alone was computed as if it could be trusted. Without
        # that it promises nothing, whatever its number.
        if name in gated.promises and gated.standings[gated.name] != "supported":
            promise = PromisedFacts(
                figure=name, standing=gated.standings[gated.name], settle=_settle(gated)
            )
            held.append(_ruled(name, verdict(PROMISED, promise), figure))
            continue
        # Missing verdicts count against the demand here, as they do in the answer.
        shown = figure.widest
        for demand, bound in (
            (AT_LEAST, threshold.at_least),
            (AT_MOST, threshold.at_most),
        ):
            if bound is not None:
                limit = LimitFacts(name, shown, bound, demand is AT_LEAST, gated)
                held.append(_ruled(name, verdict(demand, limit), figure))
    held += drifted
    notes = tuple(_notes(gated, {key for key, _ in given}, config.standing is not None))
    return GateResult(gated.name, held, notes, gated.units, gated.texts)


def _senseless(
    name: str, threshold: Threshold, figure: Estimate, gated: Gated
) -> Iterator[Held]:
    """Why a figure cannot be held against its limits: they could not fail, or its interval is
    none."""
    known = gated.range(name)
    ends = {} if known is None else {"least": known.least, "largest": known.largest}
    for key, bound in (
        ("at_least", threshold.at_least),
        ("at_most", threshold.at_most),
    ):
        if (
            known is not None
            and bound is not None
            and cannot_fail(bound, key == "at_least", known)
        ):
            share = 0.75 if key == "at_least" else 0.5
            example = known.least + share * (known.largest - known.least)
            values = {"figure": name, "limit": key, "bound": bound, "example": example}
            yield Held(name, "void", Finding("gate.cannot_fail", values | ends))
    if wrong := is_interval(figure, known) or ("value" if name in gated.odd else ""):
        source = {"source": shlex.quote(gated.source)}
        again = Finding("gate.again_run" if gated.is_run else "gate.again_card", source)
        shown = figure.widest if wrong == "range" else figure
        values = {
            "figure": name,
            **shown.values("value"),
            "level": figure.level,
            "again": again,
        }
        yield Held(name, "void", Finding(f"gate.odd_{wrong}", values | ends))


def _notes(gated: Gated, compared: set[str], standing: bool) -> Iterator[Finding]:
    """What the gate did not ask (the `standing`), and of a card what it did not compare. A run is
    its own judge."""
    for name, stands in gated.standings.items() if not standing else ():
        if stands != "supported":
            key = f"gate.note_{'run' if gated.is_run else 'check'}_{stands}"
            yield Finding(key, {"name": name})
    # A card that knows no more of its judge than a name is that of any judge with this
    # name.
    if not gated.is_run and not gated.settings:
        yield Finding("gate.note_name_only", {"judge": gated.name})
    elif not gated.is_run and (
        left := [key for key in gated.settings if key not in compared]
    ):
        yield Finding(
            "gate.note_not_compared", {"keys": ", ".join(left), "option": left[0]}
        )


def examine(
    target: Path,
    config: Path | None,
    settings: Mapping[str, Any],
    data: Sequence[Path] = (),
    newer: Path | None = None,
) -> tuple[GateResult, str]:
    """Hold a card's file or a run's folder against a gate's file (None: the one here), and say in
    which language to tell of it. `data`: the labels and items as they are now. `newer`: verdicts
    and labels that are held against the card's, in place of those that the gate's file names.
    Raises ConfigError, DataError."""
    demands = config or Path(CONFIG)
    if config is None and not demands.is_file():
        way = (
            f"Write what is demanded, e.g. {EXAMPLE}, or name another by --config FILE."
        )
        raise ConfigError(f"no gate is named, and {CONFIG} is not here. {way}")
    demanded = read_gate(demands)
    if newer is None and demanded.drift is not None:
        newer = demands.parent / demanded.drift
    if target.is_dir():
        if data:
            raise ConfigError(
                "--data is given for a run, which is its own data. Leave it out, or name a card."
            )
        run = of_run(str(target))
        drifted = [] if newer is None else [_void("drift", "gate.drift_of_run")]
        return hold(run, demanded, settings, drifted=drifted), "en"
    card = read_card(target)
    digests = None
    if data:
        from undogmatic.datasets.table import TableOptions, read_table

        table = read_table([*data], TableOptions(**card.data.options))
        # The labels and items as they are now, because a card for other data is no card
        # for these.
        digests = table_digests(table, card.judge, card.criterion)
        settings = {**table.settings.get(card.judge, {}), **settings}
    gated = of_card(card)
    # the card knows only the file's name
    beside = [*data, target.parent / gated.source]
    source = next((str(path) for path in beside if path.exists()), gated.source)
    drifted = [] if newer is None else [_drifted(card, target, newer)]
    held = hold(
        replace(gated, source=source), demanded, settings, digests, drifted=drifted
    )
    return held, card.language


def drift_file(demands: Path) -> Path | None:
    """The newer file that a gate names; None where it names none, or cannot be read, which is told
    when it is held."""
    with suppress(ConfigError, DataError):
        newer = read_gate(demands).drift
        return None if newer is None else demands.parent / newer
    return None


def _drifted(card: TrustCard, target: Path, newer: Path) -> Held:
    """Whether the card's judge agrees with people less in a newer file, read as that of the card
    was."""
    from undogmatic.datasets.table import TableOptions, read_table

    earlier = drift.earlier_figures(target)
    try:
        table = read_table([newer], TableOptions(**card.data.options))
        level = next((each.level for each in card.figures.values()), 0.95)
        before = drift.held_against(table, earlier, level)
    except (ConfigError, DataError) as error:
        return _void("drift", "gate.drift_unread", why=str(error))
    own = table.of(card.judge, card.criterion)
    # At the card's own level: two intervals of different levels have no difference that
    # means anything.
    now = agreement(own, CheckOptions(level=level))
    change = None if now.estimate is None else drift.difference(now.estimate, before)
    if now.estimate is None or change is None:
        return _void("drift", "gate.drift_unknown", judge=card.judge, file=str(newer))
    facts = ChangeFacts(
        name=card.judge,
        file=str(newer),
        figure=f"agreement.{now.name}",
        before=before,
        now=now.estimate,
        n=now.n,
        change=change,
    )
    return _ruled("drift", verdict(DRIFT, facts), change)


@dataclass(frozen=True)
class StandsFacts:
    """Says how a verdict left its claim, of what is held."""

    name: str
    standing: Standing
    gated: Gated

    @property
    def by(self) -> list[Finding]:
        """The sentence that says by which figure, where one sums it up."""
        figure = self.gated.headline.get(self.name, "")
        if (found := self.gated.figures.get(figure)) is None:
            return []
        values = found.values("value") | {
            "figure": figure,
            "counted": self.gated.counted(figure),
        }
        return [Finding("gate.by", values)]

    @property
    def in_order(self) -> int:
        """1 where the order alone may be believed, else 0."""
        return int(self.gated.in_order)

    @property
    def within(self) -> list[Finding]:
        """The clause that says how many limits there are."""
        return (
            [Finding("gate.within", {"n": n})] if (n := len(self.gated.limits)) else []
        )

    @property
    def limits(self) -> list[Finding]:
        """The sentences that say what limits the use."""
        limits = self.gated.limits
        listed = (
            " ".join(f"({n}) {said}" for n, said in enumerate(limits, 1))
            if len(limits) > 1
            else "".join(limits)
        )
        return (
            [Finding("gate.limits", {"n": len(limits), "listed": listed})]
            if limits
            else []
        )

    @property
    def settle(self) -> Finding:
        """What says more of it."""
        return (
            Finding("gate.settle_of_run") if self.gated.is_run else _settle(self.gated)
        )


@dataclass(frozen=True)
class LimitFacts:
    """Holds a figure of what is held, against the bound of a threshold."""

    figure: str
    shown: Estimate  # its limits with missing verdicts set against the judge and for it
    bound: float
    above: bool  # whether it is to lie above the bound
    gated: Gated

    @property
    def counted(self) -> Finding:
        """From how many items it comes."""
        return self.gated.counted(self.figure)

    @property
    def settle(self) -> Finding:
        """How many more items would settle what is undecided, and the command."""
        e = self.gated.figures[self.figure]
        if (
            e is None
            or e.n_groups == 0
            or not all(map(math.isfinite, (e.value, *e.interval)))
        ):
            return Finding("gate.settle_unknown")
        held = limits.hold(e, self.bound)
        if held.outcome == "missing":
            return Finding("gate.settle_missing")
        if (more := held.more(e)) is None:
            shown = self.shown.low if self.above else self.shown.high
            needed = limits.units_needed(e, self.bound)
            why = Finding("gate.close_equal", {"bound": self.bound})
            if math.isfinite(needed):
                digits = {
                    "needed": round(needed, 1 - int(math.log10(needed))),
                    "there": e.n_groups,
                }
                why = Finding(
                    "gate.close_needed",
                    {**digits, "bound": self.bound, "texts": int(self.gated.is_run)},
                )
            values = {
                "why": why,
                "bound": self.bound,
                "above": int(self.above),
                "shown": shown,
            }
            return Finding("gate.settle_close", values)
        if self.figure.startswith(INSTRUMENT):
            return Finding("gate.settle_instrument", {"needed": more + e.n_groups})
        passes = (e.value > self.bound) == self.above
        values = {
            "more": more,
            "passes": int(passes),
            "label": label_command(self.gated.source),
        }
        return Finding(
            "gate.settle_run" if self.gated.is_run else "gate.settle_labels", values
        )


def _settle(card: Gated) -> Finding:
    return Finding("gate.settle_standing", {"source": shlex.quote(card.source)})


def _ruled(name: str, ruling: Ruling[Facts], figure: Estimate | None = None) -> Held:
    return Held(name, OUTCOMES[ruling.standing], ruling.finding, figure)


def _voids(
    gated: Gated,
    config: GateConfig,
    given: Sequence[tuple[str, Any]],
    digests: Digests | None,
    today: datetime.date,
) -> list[Held]:
    """Why the card says nothing of the judge that runs now, if so; and that it does, where that was
    asked."""
    return [
        *_void_by_itself(gated, config, today),
        *_void_for_settings(gated, given),
        *_void_for_digests(gated, config, digests),
    ]


def _void(name: str, key: str, **values: Any) -> Held:
    return Held(name, "void", Finding(key, values))


def _good(name: str, key: str, **values: Any) -> Held:
    return Held(name, "pass", Finding(key, values))


def _void_by_itself(
    gated: Gated, config: GateConfig, today: datetime.date
) -> Iterator[Held]:
    """Say that the card is of another time, or not of a whole check, or of an unfinished run."""
    age = (today - gated.made).days
    if age < 0 and (not gated.is_run or config.max_age_days is not None):
        yield _void(
            "date", "gate.of_the_future", date=str(gated.made), today=str(today)
        )
    if gated.expires is not None and gated.expires < gated.made:
        yield _void(
            "expiry",
            "gate.expires_before",
            date=str(gated.expires),
            made=str(gated.made),
        )
    if gated.unasked:
        yield _void(
            "whole", "gate.unasked", names=list(gated.unasked), n=len(gated.unasked)
        )
    if gated.status != "finished":
        yield _void("finished", "gate.unfinished", status=gated.status)
    if gated.expires is not None and today > gated.expires:
        yield _void("expiry", "gate.expired", date=str(gated.expires))
    if config.max_age_days is not None:
        if age > config.max_age_days:
            yield _void("age", "gate.too_old", age=age, most=config.max_age_days)
        else:
            yield _good("age", "gate.young", age=age, most=config.max_age_days)


def _void_for_settings(
    gated: Gated, given: Sequence[tuple[str, Any]]
) -> Iterator[Held]:
    """Say of each setting of the judge that runs now whether the card's judge had it."""
    for option, value in given:
        now = setting(value)
        then = gated.settings.get(option, "") or gated.known.get(option, "")
        name = f"judge.{option}"
        if now == then:
            yield _good(name, "gate.setting_same", option=option, now=now)
        elif then:
            yield _void(name, "gate.setting_differs", option=option, now=now, then=then)
        else:
            yield _void(name, "gate.setting_unknown", option=option, now=now)


def _void_for_digests(
    gated: Gated, config: GateConfig, digests: Digests | None
) -> Iterator[Held]:
    """Say whether verdicts, labels and items are those that the card is bound to."""
    ways = {
        "verdicts": ("gate.verdicts_same", "gate.verdicts_differ"),
        "labels": ("gate.labels_same", "gate.labels_differ"),
        "items": ("gate.items_same", "gate.items_differ"),
    }
    for what, (same, differ) in ways.items():
        bound = getattr(gated, what)
        # A digest may be demanded by the gate's file, and be that of the data as they are now.
        for wanted in filter(
            None, (getattr(config, what, None), getattr(digests, what, None))
        ):
            if bound.startswith(wanted):
                yield _good(what, same, then=bound[:12])
            else:
                yield _void(what, differ, now=wanted[:12], then=bound[:12])
