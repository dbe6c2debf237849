"""`selective`: a cheap judge first, an expensive one only where a rule fires.

The rules are data (`selective.rules.yaml`), but for the one that reads what a run with
`analysis=escalation` promised.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, create_model

from undogmatic.errors import ConfigError, DataError
from undogmatic.judges.base import Judge
from undogmatic.judges.panel import run_of
from undogmatic.records.records import Item, Record, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.safety.outside import read_yaml

TABLE: Mapping[str, Mapping[str, Any]] = read_yaml(
    Path(__file__).with_name("selective.rules.yaml")
)
"""Rule -> threshold -> `of`, `default` and `most`."""
COLUMNS = {
    name
    for rule in TABLE.values()
    for threshold in rule.values()
    for name in threshold["of"]
}
"""The numbers that rules need."""


class Guaranteed(Record):
    """The cheap judge's doubt is above the threshold that a run with analysis=escalation promised
    for it; without a run the rule is off. The only rule that is no threshold in the config."""

    run: str | None = Field(default=None, min_length=1)


def _rule(name: str) -> Any:
    """The optional field of a rule, whose thresholds have their defaults and bounds."""
    thresholds: dict[str, Any] = {
        key: (float, Field(default=each["default"], ge=0, le=each.get("most", 1)))
        for key, each in TABLE[name].items()
    }
    return (create_model(name, __base__=Record, **thresholds) | None, None)


if TYPE_CHECKING:
    Rules = Any
else:
    Rules = create_model(
        "Rules",
        __base__=Record,
        guaranteed=(Guaranteed | None, None),
        **{n: _rule(n) for n in TABLE},
    )


class SelectiveJudge(Judge):
    """The verdict is the expensive judge's where a rule fired, else the cheap one's.

    A rule whose number is neither in the cheap judge's details nor in the item's metadata does not
    fire, and the details name it as not evaluated.

    Args:
        cheap: Judges every item.
        expensive: Judges the items where a rule fires. If it starts from the score of a judge equal
            to `cheap`, it is handed that score and does not ask again.
        rules: The rules with their thresholds; one that is null is off. With `guaranteed` alone,
            what the cheap judge decides alone agrees with the truth at the rate, and with the
            confidence, that the run it names has promised for texts like those of that run. Those
            texts chose the threshold, so they count as seen.
    """

    name = "selective"

    def __init__(
        self, cheap: Judge, expensive: Judge, rubric: Rubric, rules: Rules
    ) -> None:
        super().__init__()
        self.cheap = cheap
        self.expensive = expensive
        self.rubric = rubric
        self.rules = rules
        run = None if rules.guaranteed is None else rules.guaranteed.run
        self.promise: tuple[str, float] | None = None
        if run is not None:
            measure, threshold, self.weighed_on = read_promise(run, cheap, rubric)
            self.promise = measure, threshold
            self.contents = {
                "rules": rules.model_dump(mode="json") | {"guaranteed": self.promise}
            }
        initial = getattr(expensive, "initial", None)
        self.hands_over = (
            isinstance(initial, Judge)
            and initial.program_hash() == cheap.program_hash()
        )

    async def judge(self, item: Item) -> Verdict:
        """`verdict` with `escalated` (0 or 1), `rules_fired` and the cheap judge's score."""
        verdict: Verdict = (await self.cheap.acall(item=item)).verdict
        fired, unknown = self.fired(verdict, item)
        details: dict[str, float | str] = {
            "escalated": float(bool(fired)),
            "rules_fired": ", ".join(fired),
            "rules_not_evaluated": ", ".join(unknown),
        }
        details |= {} if verdict.score is None else {"cheap_score": verdict.score}
        if fired:
            known = {"initial": verdict} if self.hands_over else {}
            verdict = (await self.expensive.acall(item=item, **known)).verdict
        return verdict.replace(details=verdict.details | details)

    def fired(self, verdict: Verdict, item: Item) -> tuple[list[str], list[str]]:
        """Names of the rules that fired, and of those that are on but lack a number. Raises
        DataError."""
        numbers: dict[str, Any] = {"confidence": verdict.confidence}
        # categories without an order have no score to hold against a threshold
        if verdict.score is not None:
            evidence = sorted(COLUMNS - {"overall", "confidence", "width"})
            numbers |= {name: _share(verdict, item, name) for name in evidence}
            numbers["overall"] = self.rubric.share(verdict.score)
        if verdict.interval is not None:
            low, high = map(self.rubric.share, verdict.interval)
            numbers["width"] = high - low
        fired, unknown = [], []
        for name, rule in (
            (name, rule)
            for name in TABLE
            if (rule := getattr(self.rules, name)) is not None
        ):
            values: dict[str, list[Any]] = {
                key: [numbers.get(column) for column in threshold["of"]]
                for key, threshold in TABLE[name].items()
            }
            if any(None in several for several in values.values()):
                unknown.append(name)
            elif all(
                beyond(key, getattr(rule, key), *several)
                for key, several in values.items()
            ):
                fired.append(name)
        if self.promise is not None:
            measure, threshold = self.promise
            doubt = doubt_of(verdict, measure)
            # without a doubt there is no promise
            if doubt is None or doubt > threshold:
                fired.append("guaranteed")
        return fired, unknown


def beyond(
    key: str, threshold: float, value: float, other: float | None = None
) -> bool:
    """Whether a number, or its distance to another, lies beyond the threshold called `..._above` or
    `..._below`. 0.9 - 0.6 is 0.30000000000000004 in floating point, which is no gap above 0.3."""
    distance = (value if other is None else abs(value - other)) - threshold
    return (distance if key.endswith("_above") else -distance) > 1e-9


def _share(verdict: Verdict, item: Item, name: str) -> float | None:
    """A number between 0 and 1 of the verdict's details, else of the item's metadata. Raises
    DataError."""
    value = verdict.details.get(name, item.metadata.get(name))
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DataError(
            f"item {item.id!r}: metadata field `{name}` is {value!r}, not a number."
        )
    if not 0 <= value <= 1:
        raise DataError(
            f"item {item.id!r}: `{name}` is {value}; it must lie in [0, 1]."
        )
    return value


def read_promise(
    typed: str, cheap: Judge, rubric: Rubric
) -> tuple[str, float, frozenset[str]]:
    """The measure of doubt, the threshold up to which the run in the folder `typed`, with
    `analysis=escalation`, lets a judge decide alone, and the marks of the texts that chose it.
    Raises ConfigError: no such run, one of another judge or scale, or one that could promise
    nothing or was not believed."""
    folder, (judge, criterion) = run_of(
        typed, "judge.rules.guaranteed.run", cheap, "judge.cheap", rubric, "this judge"
    )
    again = (
        f"Repeat its command with `analysis=escalation run.resume={folder.path}`; nothing is asked"
        " again."
    )
    if "escalation.needed" not in folder.metrics:
        raise ConfigError(f"{folder.named}, a run without analysis=escalation. {again}")
    if "escalation.threshold" not in folder.metrics:
        raise ConfigError(
            f"{folder.named}, which could promise no threshold for {judge} ({criterion}): its"
            " report says what is missing. Label more texts, or promise less: analysis.rate=0.8."
        )
    if (folder.facts.get("standing") or {}).get("escalation") != "supported":
        raise ConfigError(
            f"{folder.named}, whose threshold is not to be relied on: the first line of its report"
            " says why (the judge had seen the texts, the labels were chosen, a constant score"
            " does as well, ...). Name a run whose answer is yes."
        )
    items = folder.table("items_escalation.csv")
    if "text_mark" not in items:
        raise ConfigError(
            f"{folder.named}, a run of an earlier version, which does not say by which texts."
            f" {again}"
        )
    threshold = float(folder.metrics["escalation.threshold"])
    return (
        str(items["measure"].iloc[0]),
        threshold,
        frozenset(items["text_mark"].astype(str)),
    )


def doubt_of(verdict: Verdict, measure: str) -> float | None:
    """The doubt of one verdict, by the measures of `examinations.calibration`; None where it has
    none."""
    low, high = verdict.interval or (None, None)
    values = {
        "procedure": verdict.doubt,
        "width": None if low is None or high is None else abs(high - low),
        "entropy": (
            None
            if verdict.distribution is None
            else verdict.distribution.normalised_entropy
        ),
        "confidence": None
        if verdict.confidence is None
        else 100.0 - verdict.confidence,
        "level": {None: None, "low": 0.0, "medium": 1.0, "high": 2.0}[
            verdict.uncertainty
        ],
    }
    return values[measure]
