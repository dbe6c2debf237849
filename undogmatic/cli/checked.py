"""Checks verdicts from files or from a table, for the command and for Python."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pandas as pd
from pydantic import BaseModel, ValidationError

from undogmatic.datasets.explain import ColumnRole, roles_of_columns
from undogmatic.datasets.frames import read_frame
from undogmatic.datasets.readers.mlflow_traces import frame_of
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.check import check as examine
from undogmatic.examinations.check import name_of
from undogmatic.examinations.drift import earlier_figures
from undogmatic.examinations.examination import chosen
from undogmatic.records.card import is_card
from undogmatic.records.checked import CheckOptions, CheckResult
from undogmatic.records.evidence import EarlierFigures, Evidence
from undogmatic.records.progress import doing
from undogmatic.records.records import wanted
from undogmatic.report import datasheet
from undogmatic.report.card import answers_before
from undogmatic.report.check import (
    first_line,
    in_lines,
    shown_in_notebook,
    uses_of,
    words_of,
)
from undogmatic.report.listed import largest
from undogmatic.safety.extras import needs
from undogmatic.safety.outside import brief

MLFLOW = "mlflow:"
"""How the name of a run in MLflow begins."""
SEVERAL = ("judge", "human", "text", "system", "ignore", "only")
"""Options that may name several columns, or examinations."""
LIMITS = {"gt": "above", "ge": "of at least", "lt": "below", "le": "of at most"}
"""Limits of a number, in words."""
Options = TypeVar("Options", bound=BaseModel)
Source: TypeAlias = pd.DataFrame | str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class ShownCheck(CheckResult):
    """A check that a notebook shows in words."""

    language: str = "en"

    def _repr_html_(self) -> str:
        return shown_in_notebook(self, words_of(self.language))

    def __str__(self) -> str:
        return "\n".join(in_lines(self, words_of(self.language)))

    @property
    def answer(self) -> str:
        """The answer in a sentence: of one judge, or how many of several may be believed."""
        return first_line(self, words_of(self.language))

    @property
    def use_for(self) -> str | dict[str, str]:
        """What the judge may be used for, in a sentence; of several, that of each."""
        return self._of_each("use_for")

    @property
    def not_for(self) -> str | dict[str, str]:
        """What the judge may not be used for, in a sentence; of several, that of each."""
        return self._of_each("not_for")

    @property
    def not_known(self) -> str | dict[str, str]:
        """What is not known of the judge, in a sentence; of several, that of each."""
        return self._of_each("not_known")

    @property
    def largest(self) -> pd.DataFrame:
        """The items on which judge and people differ most, those first
        (`undogmatic.report.listed.largest`)."""
        return largest(self)

    def to_frame(self) -> pd.DataFrame:
        """Every figure, a row each: `judge`, `criterion`, `figure`, `value`, `low`, `high`,
        `level`, `n`, `groups`."""
        rows = [
            {
                "judge": each.judge,
                "criterion": each.criterion,
                "figure": name,
                "value": found.value,
                "low": found.low,
                "high": found.high,
                "level": found.level,
                "n": found.n,
                "groups": found.n_groups,
            }
            for each in self.judges
            for name, found in each.estimates.items()
        ]
        return pd.DataFrame(rows)

    def _of_each(self, part: str) -> str | dict[str, str]:
        words = words_of(self.language)
        said = {
            name_of(self.table, each.judge, each.criterion): str(
                getattr(uses_of(self, each, words), part)
            )
            for each in self.judges
        }
        return next(iter(said.values())) if len(said) == 1 else said


def check(
    verdicts: Source,
    *,
    against: Source | None = None,
    instrument: str | Path | None = None,
    language: str = "en",
    **options: Any,
) -> ShownCheck:
    """Check verdicts that were made elsewhere, in a table or in files; a notebook shows what came
    of it.

    Args:
        verdicts: A row for each item (a column for each judge and each person) or for each verdict.
        against: Earlier verdicts, or the file of a trust card: what has changed?
        instrument: The folder of an instrument test's run, or a card that holds one.
        language: Of what is shown: "en" or "pt".
        options: Those of `undogmatic check`, e.g. judge="score", human=["anna", "ben"], margin=0.5.
    Raises:
        ConfigError: An option is wrong. DataError: The verdicts cannot be read.
    """
    result, _ = checked(verdicts, against, options, {}, instrument, language)
    return ShownCheck(**{**vars(result), "language": language})


def checked(
    source: Any,
    against: Any,
    given: Mapping[str, Any],
    settings: Mapping[str, str],
    instrument: str | Path | None = None,
    language: str = "en",
    cards: Sequence[Path] = (),
) -> tuple[CheckResult, TableOptions]:
    """What a check finds in a source with the options `given`, and how the source was read.
    `settings` are what is known of the judge besides; `instrument` names an instrument test of it,
    whose answer is in `language`. Where `tried` is not given, the answers on the trust cards that
    will be written over, `cards`, are counted. Raises ConfigError, DataError."""
    known = {**TableOptions.model_fields, **CheckOptions.model_fields}
    if wrong := given.keys() - known.keys():
        raise ConfigError(
            f"`{min(wrong)}` is no option of a check. There are: {', '.join(known)}."
        )
    listed = {
        k: [v] if k in SEVERAL and isinstance(v, str) else v for k, v in given.items()
    }
    if "only" in listed:
        listed["only"] = _names(listed["only"])
    options = made(
        CheckOptions,
        {k: v for k, v in listed.items() if k in CheckOptions.model_fields},
    )
    chosen(options.only)  # a wrong name is told before the file is read
    reading = made(
        TableOptions,
        {k: v for k, v in listed.items() if k in TableOptions.model_fields},
    )
    with doing("reading the file"):
        table = with_settings(read(source, reading), settings)
        earlier = None if against is None else _earlier(against, reading)
        instrument = _its_own(source) if instrument is None else instrument
        test = None if instrument is None else datasheet.read(instrument, language)
        # Whoever asks again after each batch of labels until the answer is yes, will
        # get a yes by luck: each look is counted by the card that it writes over,
        # unless somebody counts them.
        if "tried" not in given and (before := answers_before(table, cards)):
            now = len(table.verdicts[["judge", "criterion"]].drop_duplicates())
            options = options.model_copy(update={"tried": 1 + math.ceil(before / now)})
    with doing("examining the judge"):
        return examine(table, options, earlier, test), reading


def _its_own(source: Any) -> Path | None:
    """The source, where it is the run of an instrument test itself."""
    several = isinstance(source, list | tuple)
    named = [
        one for one in (source if several else [source]) if isinstance(one, str | Path)
    ]
    return next((Path(one) for one in named if datasheet.is_test(Path(one))), None)


def _earlier(against: Any, reading: TableOptions) -> Evidence | EarlierFigures:
    """What is known of before: a table, or what a trust card keeps. Raises ConfigError,
    DataError."""
    several = isinstance(against, list | tuple)
    named = [
        one
        for one in (against if several else [against])
        if isinstance(one, str | Path)
    ]
    if cards := [Path(one) for one in named if is_card(Path(one))]:
        if len(named) > 1:
            raise ConfigError(
                f"--against names a trust card, {cards[0]}, and something else. Name one of them."
            )
        return earlier_figures(cards[0])
    return read(against, reading, "--against")


def _names(typed: Any) -> Any:
    """The names of examinations, each once, of which several may stand in one word with commas
    between them. Raises ConfigError where there is none."""
    words = [] if typed is None else typed
    if not isinstance(words, list | tuple) or not all(
        isinstance(word, str) for word in words
    ):
        return typed  # what it is instead of names is told as of any other option
    names = [name.strip() for word in words for name in word.split(",") if name.strip()]
    if words and not names:
        raise ConfigError(
            f"--only is {brief(words[0])}, which names no examination. Name one, e.g."
            " `--only agreement`, or leave it out to ask all."
        )
    return list(dict.fromkeys(names))


def read(source: Any, reading: TableOptions, called: str = "FILE") -> Evidence:
    """The verdict table in files, in runs of MLflow (`mlflow:RUN_ID`) or in a data frame; `called`:
    how they are named at the door. Raises ConfigError for what is not there."""
    given = [source] if isinstance(source, str | Path | pd.DataFrame) else list(source)
    return read_table([_taken(one) for one in given], reading, called)


def column_roles(
    files: Sequence[str], reading: TableOptions
) -> tuple[list[ColumnRole], ConfigError | DataError | None]:
    """How each column of files is read, and the question that is open, if there is one."""
    frames = [
        read_frame(_taken(file), reading.sheet, unit=reading.unit) for file in files
    ]
    return roles_of_columns(frames, reading)


def _taken(source: Any) -> Any:
    if isinstance(source, str) and source.startswith(MLFLOW):
        needs("mlflow")
        from undogmatic.tracking.exchange import traces_of

        return frame_of(traces_of(source.removeprefix(MLFLOW)), source)
    return source


def made(
    record: type[Options], values: Mapping[str, Any], door: str = "check"
) -> Options:
    """A record of options of a door. Raises ConfigError that names the option as it is typed, and
    its value."""
    try:
        return record(**values)
    except ValidationError as error:
        problem = error.errors()[0]
        name = str(problem["loc"][0]) if problem["loc"] else ""
        what = wanted(problem["type"], problem["msg"], problem.get("ctx", {}))
        held = record.model_fields[name].metadata if name in record.model_fields else []
        ends = {
            end: getattr(each, end)
            for each in held
            for end in LIMITS
            if getattr(each, end, None) is not None
        }
        if ends:
            number = (
                "a finite number" if problem["type"] == "finite_number" else "a number"
            )
            limits = " and ".join(
                f"{LIMITS[end]} {value:g}" for end, value in ends.items()
            )
            what = f"it must be {number} {limits}"
        shown = (
            f"--{name.replace('_', '-')} is {brief(values.get(name))}: " if name else ""
        )
        raise ConfigError(
            f"{shown}{what}. What each option takes: undogmatic {door} --help"
        ) from None


def with_settings(table: Evidence, settings: Mapping[str, str]) -> Evidence:
    """The table with what is known of its only judge. Raises ConfigError where it has several."""
    if not settings:
        return table
    if len(table.judges) != 1:
        listed = ", ".join(table.judges[:6])
        way = "Check one of them: --judge COLUMN"
        raise ConfigError(
            f"--judge-config is given, and the files have several judges: {listed}. {way}"
        )
    judge = table.judges[0]
    return replace(
        table, settings={judge: {**table.settings.get(judge, {}), **settings}}
    )
