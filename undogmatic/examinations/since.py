"""Tells since when a judge agrees with people less, or more; without labels, since when it gives
other verdicts.

One change is looked for over the days of the items (`--over`), with a rate of false alarms of 1
less the level; `stats.change_point` says how. What changed may be the items: their days differ,
too.
"""

import datetime
import difflib
import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.judges import MEASURES, agreement_per_item, reach_of
from undogmatic.examinations.kinds import FEWEST
from undogmatic.examinations.ruling import Clause, verdict
from undogmatic.examinations.ruling.since import SINCE as RULES
from undogmatic.examinations.ruling.since import SinceFacts
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import SLICE, Evidence, JudgeView
from undogmatic.records.examination import Examination
from undogmatic.records.results import Finding, Subject, Told, Weight
from undogmatic.safety.outside import brief
from undogmatic.stats import change_point, jackknife, means
from undogmatic.stats.change_point import Change
from undogmatic.stats.checks import Array, Index
from undogmatic.stats.estimate import Estimate, Unit

MOST_PERIODS = 120
"""More days are taken together, by weeks, months or years."""
PERIODS = ("D", "W", "M", "Y")
MOST_NAMED = 6
_DATE = re.compile(r"(\d{1,4})([-/.])(\d{1,2})(?:\2(\d{1,4}))?(?:[T ,].*)?", re.DOTALL)
_YEAR, _LAST_MONTH = 4, 12  # digits of a year; a number beyond the latter is a day


class _Timed(NamedTuple):
    """What is looked at over time: a row of values for each item, its group, and its day."""

    values: Array
    codes: Index
    days: pd.Series


def dates_of(table: Evidence, column: str) -> pd.Series:
    """The day of each item as it is written in a column, NaT where the cell is empty.

    Raises:
        ConfigError: There is no such column, or its days and months cannot be told apart.
        DataError: A cell is no date; the first of these is named.
    """
    own = f"{SLICE}{column}"
    if own not in table.items:
        known = [
            str(name).removeprefix(SLICE) for name in table.items if SLICE in str(name)
        ]
        close = difflib.get_close_matches(column, known, 1)
        meant = f" Did you mean `{close[0]}`?" if close else ""
        raise ConfigError(
            f"--over is {brief(column)}, which is no column that says one thing of each item."
            f"{meant} There are: {', '.join(known) or 'none'}."
        )
    cells = table.items[own]
    written = cells.dropna().astype(str).str.strip()
    written = written[written != ""]
    found = _days(written, column, table)
    return pd.to_datetime(found.reindex(cells.index))


def _days(written: pd.Series, column: str, table: Evidence) -> pd.Series:
    """The cells as days. Raises ConfigError, DataError."""
    parts = {cell: _DATE.fullmatch(cell) for cell in written.unique()}
    loose = [
        found
        for found in parts.values()
        if found is not None and found[4] is not None and len(found[1]) < _YEAR
    ]
    # 3/4/2026 is two days. One cell of the column that can only be read one way decides
    # for all of them, as one column is written in one way; dots are written where the
    # day stands first.
    days_first = any(int(found[1]) > _LAST_MONTH or found[2] == "." for found in loose)
    months_first = any(int(found[3]) > _LAST_MONTH for found in loose)
    days: dict[str, datetime.date | None] = {
        cell: _day(found, months_first and not days_first)
        for cell, found in parts.items()
    }
    for item, cell in written.items():
        if days[cell] is None:
            rows = table.verdicts.loc[table.verdicts["item"] == item, "place"]
            place = f"{rows.iloc[0]}: " if len(rows) else ""
            raise DataError(
                f"{place}`{column}` is {brief(cell)}, which is no date such as 2026-05-14. Mend the"
                " cell, or leave it empty to leave the item out of the search."
            )
    # Guessing would turn the order of time around for many of the cells without anybody
    # seeing it.
    if loose and not days_first and not months_first:
        raise ConfigError(
            f"`{column}` is {brief(loose[0][0])}, and no cell says whether the day or the month"
            " stands first. Write the year first, e.g. 2026-05-14."
        )
    return written.map(days)


def _day(found: re.Match[str] | None, month_first: bool) -> datetime.date | None:
    """The day of a cell; of a month its first day; None where it is none."""
    if found is None:
        return None
    one, _, two, three = found.groups()
    if len(one) == _YEAR:
        year, month, day = one, two, three or "1"
    elif three is not None and len(three) == _YEAR:
        year, month, day = (three, one, two) if month_first else (three, two, one)
    else:
        return None
    try:
        return datetime.date(int(year), int(month), int(day))
    except ValueError:
        return None


def _examine(view: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell since when agreement with people has changed, or the verdicts."""
    dates = view.table.dates
    if dates is None:
        return
    rows = view.first().dropna(subset=["verdict"])
    days = dates.reindex(rows["item"]).to_numpy()
    if undated := int(rows.loc[pd.isna(days), "item"].nunique()):
        told.say("since.undated", judge=view.judge, n=undated)
    rows = rows[~pd.isna(days)]
    agreed = _agreement(view, rows, dates)
    _tell_gaps(rows, dates, agreed, told)
    if len(agreed.values) >= FEWEST:
        _search(view, agreed, told, options, agreement=True)
        return
    judged = _verdicts(view, rows, dates)
    if len(agreed.values):
        told.lacks(
            "since.agreement", "since.few_labels", n=len(agreed.values), needed=FEWEST
        )
    elif view.table.kind == "pairwise":
        _untold(view, told, Finding("since.no_labels", {"judge": view.judge}))
        return
    if len(judged.values) < FEWEST:
        facts = {"judge": view.judge, "n": len(judged.values), "needed": FEWEST}
        _untold(view, told, Finding("since.few", facts))
        return
    _search(view, judged, told, options, agreement=False)


def _untold(view: JudgeView, told: Told, why: Finding) -> None:
    told.not_examined["since"] = why
    values = {"judge": view.judge, "why": why}
    told.say("since.untold", values, subject=Subject.AGREED, weight=Weight.DETAIL)


def _agreement(view: JudgeView, rows: pd.DataFrame, dates: pd.Series) -> _Timed:
    """The agreement of each item with people, the more the better."""
    agrees, _ = agreement_per_item(view.table, rows, view.labels)
    if view.judge not in agrees:
        return _timed(view, pd.DataFrame(), dates)
    return _timed(view, agrees[[view.judge]].dropna(), dates)


def _verdicts(view: JudgeView, rows: pd.DataFrame, dates: pd.Series) -> _Timed:
    """The verdict of each item: ordered categories as a share of the scale; of others the share of
    each."""
    kind, names = view.table.kind, view.table.categories
    said = rows.groupby("item", sort=False)["verdict"].first()
    if kind == "ordered":
        said = said / max(len(names) - 1, 1)
    if kind != "unordered":
        return _timed(view, said.to_frame(), dates)
    each = {name: (said == place).astype(float) for place, name in enumerate(names)}
    return _timed(view, pd.DataFrame(each), dates)


def _timed(view: JudgeView, values: pd.DataFrame, dates: pd.Series) -> _Timed:
    groups = view.table.items["group"].reindex(values.index)
    codes = pd.factorize(groups)[0].astype(np.intp)
    return _Timed(values.to_numpy(np.float64), codes, dates.reindex(values.index))


def _tell_gaps(
    rows: pd.DataFrame, dates: pd.Series, agreed: _Timed, told: Told
) -> None:
    """Name the months in which the judge judged and nobody labelled."""
    if not len(agreed.values):
        return
    judged = dates.reindex(rows["item"]).dt.to_period("M")
    gaps = sorted(set(judged) - set(agreed.days.dt.to_period("M")))
    if gaps:
        named = [str(month) for month in gaps[:MOST_NAMED]]
        rest = ", ..." * (len(gaps) > MOST_NAMED)
        told.lacks(
            "since.months", "since.no_labels_in", months=named, n=len(gaps), rest=rest
        )


def _search(
    view: JudgeView,
    timed: _Timed,
    told: Told,
    options: CheckOptions,
    *,
    agreement: bool,
) -> None:
    """Look for a change, and tell it."""
    first, last = timed.days.min(), timed.days.max()
    # Without two days there is no before and after.
    if first == last:
        facts = {"judge": view.judge, "day": _written(first), "n": len(timed.values)}
        _untold(view, told, Finding("since.one_date", facts))
        return
    length = next(
        (
            each
            for each in PERIODS
            if timed.days.dt.to_period(each).nunique() <= MOST_PERIODS
        ),
        "Y",
    )
    spans = timed.days.dt.to_period(length)
    periods = pd.factorize(spans, sort=True)[0].astype(np.intp)
    found = change_point.find(
        timed.values, periods, timed.codes, options.rng(), options.level
    )
    if found is None:
        facts = {
            "judge": view.judge,
            "n": len(timed.values),
            "groups": int(np.unique(timed.codes).size),
            "needed": change_point.fewest_units(options.level),
            "side": change_point.PER_SIDE,
        }
        _untold(view, told, Finding("since.few_units", facts))
        return
    ruling = verdict(
        RULES, _facts(view, timed, periods, found, options, length, agreement)
    )
    told.findings.append(ruling.finding)
    _tell_figures(view, timed, periods, found, told, options, agreement)


def _facts(
    view: JudgeView,
    timed: _Timed,
    periods: Index,
    found: Change,
    options: CheckOptions,
    length: str,
    agreement: bool,
) -> SinceFacts:
    """What the rules read: of several categories, that which changed most."""
    kind, names = view.table.kind, view.table.categories
    most = int(np.argmax([abs(each.value) for each in found.difference]))
    distance = agreement and kind == "numeric"
    sign = -1 if distance else 1  # of grades, the distance from the labels is told
    change = found.difference[most]
    measure = f"of_{MEASURES.get(kind, 'share')}" if agreement else f"mean_{kind}"
    starts = timed.days.groupby(periods).min()
    at, first, last = (
        _written(starts.loc[place]) for place in (found.at, found.first, found.last)
    )
    span: Clause = (
        Finding("since.span", {"first": first, "last": last}) if first != last else []
    )
    units = "groups" if found.dealt == "groups" else length
    return SinceFacts(
        judge=view.judge,
        agreement=agreement,
        gained=change.value > 0,
        measure=measure,
        category=str(names[1 if kind == "pass_fail" else most]) if names else "",
        distance=int(distance),
        at=at,
        span=span,
        first=_written(timed.days.min()),
        last=_written(timed.days.max()),
        before=sign * float(found.before[most]),
        after=sign * float(found.after[most]),
        change=-change if distance else change,
        p=found.p,
        alpha=1 - options.level,
        n=len(timed.values),
        units=change.n_groups,
        dealt=Finding(f"since.dealt_{units}", {"units": change.n_groups}),
    )


def _tell_figures(
    view: JudgeView,
    timed: _Timed,
    periods: Index,
    found: Change,
    told: Told,
    options: CheckOptions,
    agreement: bool,
) -> None:
    """Tell the change, both sides of it, and each month."""
    if timed.values.shape[1] > 1:
        return
    numeric = view.table.kind == "numeric"
    unit: Unit = "amount" if numeric else "share"
    values = np.abs(timed.values[:, 0]) if agreement and numeric else timed.values[:, 0]
    (change,) = found.difference
    # Agreement of numbers is their distance with a minus, so that more is better as
    # everywhere; it is told as the distance.
    told.number(-change if agreement and numeric else change, "since.change", unit=unit)
    for name, side in (("before", periods < found.at), ("after", periods >= found.at)):
        told.number(
            _mean(view, values[side], timed.codes[side], options),
            "since",
            name,
            unit=unit,
        )
    months = timed.days.dt.to_period("M").astype(str).to_numpy()
    rows = []
    for month in sorted(set(months)):
        here = months == month
        mean = _mean(view, values[here], timed.codes[here], options)
        rows.append({"month": month, "n": int(here.sum())} | mean.row("mean"))
    told.table("since.months", pd.DataFrame(rows), mean=unit)


def _mean(
    view: JudgeView, values: Array, codes: Index, options: CheckOptions
) -> Estimate:
    """The mean of some items with its interval over groups."""
    reach, numeric = reach_of(view.table, view.criterion), view.table.kind == "numeric"
    bounds: means.Bounds | None = None if numeric else (0.0, 1.0)
    if numeric and reach is not None:
        bounds = min(0.0, float(values.min())), max(reach, float(values.max()))
    groups = np.unique(codes, return_inverse=True)[1]
    # So few groups say nothing of how much they differ: the interval is all that the
    # scale allows.
    if np.unique(groups).size < jackknife.FEWEST:
        low, high = bounds or (-np.inf, np.inf)
        return Estimate(
            float(values.mean()), low, high, options.level, len(values), len(values)
        )
    return means.interval(values, options.level, groups=groups, bounds=bounds)


def _written(day: Any) -> str:
    return str(day.date().isoformat())


SINCE = Examination(
    "since",
    _examine,
    needs=("dates",),
    fewest_groups=0,
    lacks={"dates": ""},
)
"""Since when a judge agrees with people less, or more."""
