"""Defines the trust card: what a judge may be used for, on which data, until when, and the digests
that it is bound to.

A card holds a digest over itself, so that a damaged or edited one is not read. It is for one judge
and one criterion.
"""

import datetime
import json
import math
import re
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pandas as pd
from pydantic import (
    BeforeValidator,
    Field,
    InstanceOf,
    PlainSerializer,
    ValidationError,
    model_validator,
)

from undogmatic.errors import DataError
from undogmatic.records.evidence import LABEL_COLUMNS, Evidence, Kind, Selection
from undogmatic.records.records import (
    Name,
    Record,
    Text,
    as_number,
    digest,
    first_problem,
)
from undogmatic.records.results import Standing
from undogmatic.safety.outside import brief, json_value, opened, read_text
from undogmatic.stats.estimate import UNITS, Estimate

LONGEST_SETTING = 100
"""Characters of a setting that a card shows; of a longer one, such as a prompt, it holds the digest
alone."""
OF_ITEMS = ("text", "text_1", "text_2", "injected", "parent")
_BEGINS = 2**16  # bytes of a file that show whether it is meant to be a card
_NONE = {
    "value": math.nan,
    "low": -math.inf,
    "high": math.inf,
    "worst": -math.inf,
    "best": math.inf,
}
_FIGURE = ("value", "interval", "bounds", "level", "n", "groups")


def figure_row(estimate: Estimate) -> dict[str, Any]:
    """A number with its interval, level, n, groups and unit as JSON can hold it, None for an end
    that nothing limits; `bounds`: with missing verdicts set against it and for it, where there are
    some."""

    def ends(*values: float) -> list[float | None]:
        return [float(value) if math.isfinite(value) else None for value in values]

    bounds = (
        None
        if estimate.worst is None and estimate.best is None
        else ends(estimate.worst_low, estimate.best_high)
    )
    row = (
        ends(estimate.value)[0],
        ends(*estimate.interval),
        bounds,
        estimate.level,
        estimate.n,
        estimate.n_groups,
    )
    # Cards were made before figures had these, and their seals are as good as ever.
    more = {"unit": estimate.unit, "measure": estimate.measure}
    known = {name: said for name, said in more.items() if said}
    return dict(zip(_FIGURE, row, strict=True)) | known


def _of_row(given: Any) -> Estimate:
    """The estimate of which `figure_row` makes this. Raises ValueError."""
    try:
        row = figure_row(given) if isinstance(given, Estimate) else _plain_row(given)
        value, (low, high), bounds, level, n, groups = (row[name] for name in _FIGURE)
        numbers = {"value": value, "low": low, "high": high}
        numbers |= (
            {} if bounds is None else dict(zip(("worst", "best"), bounds, strict=True))
        )
        ends: dict[str, Any] = {
            name: _NONE[name] if number is None else float(number)
            for name, number in numbers.items()
        }
        ends |= {"level": float(level), "n": int(n), "n_groups": int(groups)}
        return Estimate(
            **ends, unit=row.get("unit", ""), measure=row.get("measure", "")
        )
    except (KeyError, TypeError):
        raise ValueError("it is no figure with its interval") from None


def _plain_row(given: Any) -> Any:
    """A figure as it stands in a file. Raises ValueError where something is no number that it
    should be: true is 1 for Python, and "0.9" a number for many readers, but no check writes
    either."""
    value, interval, bounds, level, n, groups = (given[name] for name in _FIGURE)
    ends = {"value": value, "level": level}
    ends |= {f"interval[{place}]": end for place, end in enumerate(interval)}
    ends |= {f"bounds[{place}]": end for place, end in enumerate(bounds or ())}
    for name, number in ends.items():
        if name != "level" and number is None:
            continue
        if (
            isinstance(number, bool)
            or not isinstance(number, int | float)
            or not math.isfinite(number)
        ):
            raise ValueError(f"its {name} is {brief(number)}, which is no number")
    for name, count in (("n", n), ("groups", groups)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ValueError(
                f"its {name} is {brief(count)}; it must be a whole number of 0 or more"
            )
    if (unit := given.get("unit", "")) not in UNITS:
        raise ValueError(
            f'its unit is {brief(unit)}; it must be one of {", ".join(UNITS[1:])}, or ""'
        )
    if not isinstance(given.get("measure", ""), str):
        raise ValueError(f"its measure is {brief(given['measure'])}, which is no name")
    if 0 < n < groups:
        raise ValueError(
            f"it has {groups} independent groups of {n} items, and a group has one item at least"
        )
    return given


def _day(given: Any) -> Any:
    """A day as a card has it. Pydantic would also take seconds since 1970, and a moment in whatever
    zone."""
    if type(given) is datetime.date:
        return given
    if not isinstance(given, str) or not re.fullmatch(
        r"\d{4}-\d{2}-\d{2}", given, re.ASCII
    ):
        raise ValueError("it must be a day such as 2026-03-01")
    return given


Day = Annotated[datetime.date, BeforeValidator(_day)]
Count = Annotated[int, Field(strict=True, ge=0)]

Figure = Annotated[
    InstanceOf[Estimate], BeforeValidator(_of_row), PlainSerializer(figure_row)
]
"""A number with its interval, as a card keeps it."""


class CardData(Record):
    """What the judge was checked on: files with the SHA-256 of each, and how they were read
    (`options`)."""

    files: dict[Text, str]
    options: dict[str, Any]
    kind: Kind
    n: Count  # items with a verdict and a label
    groups: Count
    labels: Count
    raters: Count
    selection: Selection
    # of numbers: how far apart two may lie
    span: float | None = Field(default=None, strict=True, ge=0)

    @model_validator(mode="after")
    def _counts_fit(self) -> Self:
        if self.groups > self.n:
            raise ValueError(
                f"it has {self.groups} independent groups of {self.n} items"
            )
        return self


class Digests(Record):
    """What a card is bound to: SHA-256 (hex) of the judge (its name and what is known of it), of
    what it said, of the labels and of the items."""

    judge: str
    verdicts: str
    labels: str
    items: str


class Datasheet(Record):
    """What an instrument test found of the judge without labels, on its own texts and copies; its
    numbers stand among the card's figures (`instrument....`).

    `shown` says of each cue what is shown, `margin` up to which difference of scores nothing
    matters, `span` how far apart two scores may lie. `judge` and `items` are SHA-256 of the judge's
    recipe, and of the texts and copies.
    """

    made: Day
    answer: Text
    shown: dict[Name, Literal["effect", "no_effect", "open", "not_examined"]]
    margin: float | None = Field(default=None, strict=True, ge=0)
    span: float = Field(strict=True, gt=0)
    settings: dict[str, Text]
    judge: str
    items: str


class CardBody(Record):
    """What a check found of one judge on one criterion, to be carried and shown.

    `settings` are what is known of the judge; where there are none, the card is bound to its name
    only. `limits` are the findings that limit its use; sentences are in `language`. `unasked` are
    the examinations that could have spoken against it and were not asked.
    """

    format: Literal[1] = 1
    judge: Name
    criterion: Name
    use: Text
    standing: Standing
    answer: Text
    # In a sentence each; cards were made before they held these.
    use_for: Text | None = Field(default=None, exclude_if=lambda said: said is None)
    not_for: Text | None = Field(default=None, exclude_if=lambda said: said is None)
    not_known: Text | None = Field(default=None, exclude_if=lambda said: said is None)
    rival: Text
    figures: dict[str, Figure]
    headline: Name | None = None  # the figure that sums the agreement with people up
    limits: tuple[Text, ...]
    not_examined: tuple[Text, ...]
    data: CardData
    settings: dict[str, Text]
    digests: Digests
    made: Day
    expires: Day
    version: str
    language: str
    # The figures that tell what the judge may decide alone once it is believed (`Told.promises`);
    # None on a card that was made before cards said it.
    promises: tuple[Name, ...] | None = Field(
        default=None, exclude_if=lambda names: names is None
    )
    # What an instrument test found, where one was named
    instrument: Datasheet | None = Field(
        default=None, exclude_if=lambda own: own is None
    )
    # How many answers were asked of the labels; cards were made before they said it.
    answers: int = Field(default=1, strict=True, ge=1, exclude_if=lambda n: n == 1)
    # A card of a whole check does not mention it, as one that was made before there were parts.
    unasked: tuple[Name, ...] = Field(default=(), exclude_if=lambda names: not names)

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        if self.expires < self.made:
            raise ValueError(
                f"it expires on {self.expires}, before it was made on {self.made}"
            )
        return self


class TrustCard(CardBody):
    """A card with its seal, the digest of all the rest: one that was edited or damaged is no
    card."""

    seal: str

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.seal != _seal(self):
            raise ValueError(
                "it was edited or damaged after it was made: its contents do not belong to its seal"
            )
        return self

    def text(self) -> str:
        """The card as JSON."""
        return f"{self.model_dump_json(indent=2)}\n"


def sealed(**fields: Any) -> TrustCard:
    """A new card."""
    return TrustCard(**fields, seal=_seal(CardBody(**fields)))


def _seal(card: CardBody) -> str:
    contents = card.model_dump(mode="json", exclude={"seal"})
    # cards were made before they held these, and are as good as ever
    if contents["data"]["span"] is None:
        del contents["data"]["span"]
    if contents["headline"] is None:
        del contents["headline"]
    return digest(contents)


def is_card(path: Path) -> bool:
    """Whether a file is meant to be a trust card in JSON, whole or not."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    with opened(path) as file:
        begins = file.read(_BEGINS)
    return all(f'"{key}"'.encode() in begins for key in ("format", "standing", "use"))


def read_card(path: Path) -> TrustCard:
    """A card from its JSON file. Raises DataError where it is none, or was edited."""
    try:
        return TrustCard.model_validate(read_text(path, value=json_value))
    except ValidationError as error:
        what = (
            f"{path}: not a trust card that can be relied on ({first_problem(error)})"
        )
        raise DataError(
            f"{what}. Make it again: undogmatic check FILE --card {path.name}"
        ) from None


def setting(value: Any) -> str:
    """A setting of a judge in the one form in which it is kept and compared: a number without
    needless digits, a text without the space around it, of a long text its SHA-256."""
    text = str(value).lower() if isinstance(value, bool) else str(value).strip()
    if not isinstance(number := as_number(text), str):
        return f"{number:.12g}"
    if len(text) > LONGEST_SETTING or "\n" in text:
        return f"sha256:{sha256(text.encode()).hexdigest()}"
    return text


def table_digests(table: Evidence, judge: str, criterion: str) -> Digests:
    """The digests of a judge, of its verdicts and of the labels on a criterion, and of the items.
    The order of rows and columns changes none of them."""
    own = table.of(judge, criterion)
    said = rows_digest(own.verdicts[["item", "repeat", "order", "verdict"]])
    labels, items = labels_digest(own.labels), items_digest(table)
    return Digests(
        judge=judge_digest(table, judge), verdicts=said, labels=labels, items=items
    )


def digests_of(table: Evidence) -> dict[str, Any]:
    """What an answer is bound to: SHA-256 of the labels, of the items and, by judge, of what is
    known of it (model, prompt, settings; its name alone where nothing is). The order of rows
    changes none of them."""
    judges = {judge: judge_digest(table, judge) for judge in table.judges}
    return {
        "judges": judges,
        "labels": labels_digest(table.labels),
        "items": items_digest(table),
    }


def judge_digest(table: Evidence, judge: str) -> str:
    """The digest of a judge: of its name and of what is known of it."""
    return digest(
        {
            "name": judge,
            **{
                key: setting(value)
                for key, value in table.settings.get(judge, {}).items()
            },
        }
    )


def labels_digest(labels: pd.DataFrame) -> str:
    """The digest of labels: who said what of which item on which criterion."""
    return rows_digest(labels[list(LABEL_COLUMNS)])


def items_digest(table: Evidence) -> str:
    """The digest of the items: their ids and texts, and what was planted in them."""
    return rows_digest(
        table.items[
            [column for column in OF_ITEMS if column in table.items]
        ].reset_index()
    )


def rows_digest(frame: pd.DataFrame) -> str:
    """SHA-256 of the rows of a table, in whatever order."""
    plain = frame.astype(object).where(frame.notna(), None)
    as_json = json.JSONEncoder(ensure_ascii=False, default=str).encode
    # Sorted, as the same table in another order is the same evidence.
    rows = sorted(map(as_json, plain.itertuples(index=False, name=None)))
    whole = sha256()
    # one by one, as all of them together may be as large as the file
    for place, row in enumerate(rows):
        whole.update(f"{chr(10) if place else ''}{row}".encode("utf-8", "replace"))
    return whole.hexdigest()
