"""Collects what the table of all items lists: of a run, of a check or of a sweep, in one form.

Subtracts labels from scores; computes nothing else. `workbench` makes the table of it.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.examinations.check import name_of
from undogmatic.records.checked import CheckResult
from undogmatic.records.evidence import SLICE, Evidence
from undogmatic.records.records import OVERALL, Item, Verdict
from undogmatic.records.stored import whole
from undogmatic.records.sweep_result import SweepResult
from undogmatic.records.words import Words, missing
from undogmatic.report.document import place
from undogmatic.report.parts import Part, Shown, inputs_of, people_of, said_of
from undogmatic.runs.outcome import FinishedRun
from undogmatic.safety.secrets import redacted
from undogmatic.safety.spool import many

# rows; of more, half are those that come first in the order, half are taken at even steps of the
# rest
MOST = 10_000
EXCERPT = 300  # characters of a text in its row
LEVELS = ("low", "medium", "high")
"""Levels of doubt, from least to most."""


class Opened(NamedTuple):
    """The item of a row, what the row opens to, and the pair that the item belongs to."""

    id: str
    parts: Sequence[Part]
    pair: str | None = None


class Heat(NamedTuple):
    """The ends of the scale by whose place on it cells are coloured, and the margin from which jobs
    differ."""

    bottom: float
    top: float
    margin: float | None


class Listed(NamedTuple):
    """Items, or judgments of them, a row each.

    Attributes:
        cells: Name of a column -> its cells, None where there is nothing to say.
        opened: What each row opens to.
        source: The file in which stands whole what is cut here.
        total: How many rows there are, where these are only some of them: those that come first in
            the `order`, and others.
        caption: Of the table; "" for the usual one.
        scores: Name of a job -> its scores of the items, coloured by `heat`.
        notes: Sentences below the table.
    """

    cells: Mapping[str, Sequence[Any]]
    opened: Sequence[Opened]
    source: str
    total: int
    order: str = "data"
    caption: str = ""
    scores: Mapping[str, Sequence[float | None]] = {}
    heat: Heat | None = None
    notes: Sequence[str] = ()


def of_run(run: FinishedRun, words: Words) -> Listed:
    """The judgments of a run, without repeats. Of a large run those that are furthest from their
    label, or else are doubted most, and others."""
    first_repeat = run.frame[run.frame["repeat"] == 0]
    chosen, order = _told_first(first_repeat, run)
    frame, shown = chosen.to_dict("records"), set(chosen["item_id"])
    judged = {j.key: Shown.of(j, words) for j in run.judgments if j.item_id in shown}
    repeats = range(run.repeats[-1] + 1)
    known = [
        [judged.get((r["item_id"], r["judge"], r["criterion"], n)) for n in repeats]
        for r in frame
    ]
    items = {item.id: item for item in run.items if item.id in shown}
    opened = list[Opened]()
    for row, told_of in zip(frame, known, strict=True):
        item = items[row["item_id"]]
        inputs = inputs_of(item, run.rubric, words, run.settings.redacted)
        said = said_of(
            item, row["criterion"], [each for each in told_of if each], words
        )
        opened.append(Opened(item.id, [*inputs, *said], item.pair))
    cells = _columns(frame, [each[0] for each in known], items, run, words)
    return Listed(cells, opened, "judgments.jsonl", len(first_repeat), order)


def _told_first(frame: pd.DataFrame, run: FinishedRun) -> tuple[pd.DataFrame, str]:
    """The rows that a table of a run with many items has: half of MOST are those that come first in
    its order, half are taken at even steps of the rest; and the name of that order. All of a run
    whose items are held.
    """
    if not many(run.items) or len(frame) <= MOST:
        return whole(frame), "data"

    # one after the other: of a million rows each is 8 MB
    def orders() -> Iterator[tuple[str, pd.Series]]:
        yield "furthest", (frame["score"] - frame["label"]).abs()
        yield "doubtful", frame["doubt"]
        yield "unsure", -frame["confidence"]
        yield "highest", frame["score"]

    nothing = ("data", pd.Series(np.nan, range(len(frame))))
    name, worst = next((each for each in orders() if each[1].notna().any()), nothing)
    order = np.argsort(
        np.nan_to_num(-worst.to_numpy(dtype=float), copy=False, nan=np.inf),
        kind="stable",
    )
    return frame.iloc[some(order)], name


def some(order: np.ndarray) -> np.ndarray:
    """MOST of these places, sorted: half of them are the first, half are taken at even steps of the
    rest."""
    first, rest = order[: MOST // 2], order[MOST // 2 :]
    return np.sort(
        np.concatenate([first, rest[np.arange(MOST // 2) * len(rest) // (MOST // 2)]])
    )


def of_sweep(sweep: SweepResult, words: Words) -> Listed:
    """The items of a sweep, with what each job gave them. Of many those where the jobs are furthest
    apart, and others."""
    matrix, order = _furthest_apart(sweep.scores)
    shown = set(matrix.index)
    items = {item.id: item for item in sweep.items if item.id in shown}
    texts: list[str] = []
    labels: list[float | str | None] = []
    spreads: list[float | None] = []
    opened = list[Opened]()
    for name in matrix.index:
        item = items.get(name)
        scores = matrix.loc[name].dropna()
        spread = scores.max() - scores.min()
        spreads.append(float(spread) if len(scores) > 1 else None)
        links = [
            Part(job, f"{sweep.numbers[job]}/report.html#{place(name)}", "link")
            for job in scores.index
        ]
        # What the jobs judged cannot always be read again; their scores are there all the same.
        if item is None:
            texts.append("")
            labels.append(None)
            opened.append(Opened(name, links))
            continue
        inputs = inputs_of(item, sweep.rubric, words, sweep.redacted)
        texts.append(shorten(inputs[0].text) if inputs else "")
        labels.append(None if item.label is None else words.label(item.label))
        people = people_of(item, OVERALL, words)
        opened.append(Opened(name, [*inputs, *people, *links], item.pair))
    cells: dict[str, list[Any]] = {
        "item": list(matrix.index),
        "text": texts,
        "label": labels,
        "spread": spreads,
    }
    jobs = {
        job: [None if missing(score) else float(score) for score in matrix[job]]
        for job in matrix.columns
    }
    if sweep.rubric is not None:
        ends = (sweep.rubric.minimum, sweep.rubric.maximum)
    else:
        # Categories without an order have no scores, so there may be none at all.
        known = [score for own in jobs.values() for score in own if score is not None]
        ends = (min(known, default=0.0), max(known, default=0.0))
    notes = []
    if sweep.margin is not None and len(jobs) > 1:
        notes.append(words.text("bench.colour", margin=sweep.margin))
    if sweep.unread:
        notes.append(words.text("bench.unread", why=sweep.unread))
    return Listed(
        cells,
        opened,
        "judgments.jsonl",
        len(sweep.scores),
        order,
        words.text("bench.caption_sweep", n=len(sweep.scores)),
        jobs,
        Heat(*ends, sweep.margin),
        notes,
    )


def _furthest_apart(scores: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The rows of a sweep with many items in which the jobs are furthest apart, and others, with
    the name of that order; of others all rows."""
    if len(scores) <= MOST:
        return scores, "data"
    apart = scores.max(axis="columns") - scores.min(axis="columns")
    # One job alone is apart from nothing.
    apart = apart.where(scores.count(axis="columns") > 1)
    order = "apart" if apart.notna().any() else "data"
    return scores.iloc[some(np.argsort(-apart.to_numpy(), kind="stable"))], order


def of_check(result: CheckResult, words: Words) -> Listed:
    """The items of a check, with what each judge and people said of them."""
    table = result.table
    told = defaultdict[str, list[Any]](list)
    opened = list[Opened]()
    sizes = table.items.groupby("group")["group"].transform("size")
    for each in result.judges:
        own = table.of(each.judge, each.criterion)
        people = dict(iter(own.labels.dropna(subset=["label"]).groupby("item")))
        for row in own.first().to_dict("records"):
            item = str(row["item"])
            about = {
                str(key): value
                for key, value in table.items.loc[row["item"]].items()
                if not missing(value)
            }
            texts = {
                key: str(about[key])
                for key in ("text", "text_1", "text_2")
                if about.get(key)
            }
            labels = people.get(row["item"], own.labels.iloc[:0])
            cells = _checked(table, row["verdict"], labels["label"].tolist(), words)
            cells |= {
                "item": item,
                "text": shorten(" / ".join(texts.values()), EXCERPT),
                "failed": row["reason"],
            }
            if len(result.judges) > 1:
                cells["judge"] = name_of(table, each.judge, each.criterion)
            if not missing(row["order"]):
                cells["shown"] = words.text(f"bench.{row['order']}")
            if not missing(row["confidence"]):
                cells["confidence"] = float(row["confidence"])
            for key in CHECKED:
                told[key].append(cells.get(key))
            given = [
                f"{r}: {_shown(table, v, words)}"
                for r, v in zip(labels["rater"], labels["label"], strict=True)
            ]
            known = [
                f"{k.removeprefix(SLICE)}: {words.number(v)}"
                for k, v in about.items()
                if k not in _INNER
            ]
            said = {"labels": given, "known": known, "place": [str(row["place"])]}
            parts = [
                Part(words.text(f"bench.{key}"), text, "input")
                for key, text in texts.items()
            ]
            parts += [
                Part(words.text(f"bench.{key}"), "\n".join(lines))
                for key, lines in said.items()
                if lines
            ]
            # The page compares the two texts of a pair word by word; of three nobody
            # says which belong side by side.
            pair = about["group"] if sizes[row["item"]] == 2 else None
            opened.append(Opened(item, parts, pair))
    source = ", ".join(Path(name).name for name in table.sources)
    return Listed(told, opened, source, len(opened))


def largest(result: CheckResult) -> pd.DataFrame:
    """The items on which a judge and people differ most, those first: one row per judge, criterion
    and item with both, with its `verdict`, the mean `label` of people (of categories the number of
    each, from 0), their `difference`, and of categories the share of people who say something else
    (`differing`)."""
    table, parts = result.table, []
    for each in result.judges:
        pairs = table.of(each.judge, each.criterion).pairs()
        by_item = pairs.groupby("item", sort=False)
        rows = by_item[["verdict", "label"]].mean()
        rows["difference"] = rows["verdict"] - rows["label"]
        if table.kind != "numeric":
            rows["differing"] = (
                (pairs["verdict"] != pairs["label"]).groupby(pairs["item"]).mean()
            )
        rows = rows.reset_index()
        rows.insert(0, "judge", each.judge)
        rows.insert(1, "criterion", each.criterion)
        for text in [
            name for name in ("text", "text_1", "text_2") if name in table.items
        ]:
            rows[text] = table.items[text].reindex(rows["item"]).to_numpy()
        by = ["difference"] if table.kind != "unordered" else []
        far = rows[by].abs().assign(differing=rows.get("differing", 0.0))
        order = far.sort_values(list(far), ascending=False, kind="stable").index
        parts.append(rows.loc[order])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


CHECKED = (
    "item",
    "text",
    "judge",
    "shown",
    "score",
    "verdict",
    "label",
    "error",
    "agrees",
    "confidence",
    "failed",
)
# what is known of an item, and shown otherwise
_INNER = (
    "group",
    "probability",
    "text",
    "text_1",
    "text_2",
)


def _checked(
    table: Evidence, verdict: float, labels: Sequence[float], words: Words
) -> dict[str, Any]:
    """What a judge and people said of an item, and how far they are apart: numbers by their
    difference, categories by whether they are the same."""
    gaps = [verdict - label for label in labels if not missing(verdict)]
    shown = partial(_shown, table, words=words)
    if table.kind == "numeric":
        cells: dict[str, Any] = {
            "score": verdict,
            "label": math.fsum(labels) / len(labels) if labels else None,
        }
        cells |= {"error": math.fsum(gaps) / len(gaps) if gaps else None}
        return {key: None if missing(value) else value for key, value in cells.items()}
    cells = {"label": " / ".join(map(shown, sorted(set(labels)))) or None}
    cells |= {"verdict": None if missing(verdict) else shown(verdict)}
    if not gaps:
        return cells | {"agrees": None}
    differ = sum(gap != 0 for gap in gaps)
    key = "partly"
    if not differ:
        key = "same"
    elif differ == len(gaps):
        key = "differs"
    return cells | {"agrees": words.text(f"bench.{key}")}


def _shown(table: Evidence, value: float, words: Words) -> str:
    """A verdict or label as it is read."""
    if table.kind == "numeric":
        return words.number(value, "g")
    return words.value(table.categories[int(value)], "check")


def _columns(
    rows: Sequence[Mapping[Any, Any]],
    judgments: Sequence[Shown | None],
    items: Mapping[str, Item],
    run: FinishedRun,
    words: Words,
) -> dict[str, list[Any]]:
    """The cells of the columns by name; None where there is nothing to say."""

    def each(key: str, write: Callable[[Any], Any]) -> list[Any]:
        return [None if missing(row[key]) else write(row[key]) for row in rows]

    def placed(value: Any) -> float:
        return words.placed(float(value))

    def word(section: str, value: Any) -> str:
        return words.find(f"common.{section}{value}") or str(value)

    hidden = run.settings.redacted
    texts = {
        name: cut(redacted(item.text), EXCERPT) if hidden else shorten(item.text)
        for name, item in items.items()
    }
    score = each("score", placed)
    gaps = zip(score, each("label", placed), strict=True)
    ends = zip(each("low", placed), each("high", placed), strict=True)
    outcomes = [judgment and judgment.outcome for judgment in judgments]
    return {
        "item": [row["item_id"] for row in rows],
        "text": [texts[row["item_id"]] for row in rows],
        "judge": [run.parts[row["judge"], row["criterion"]] or None for row in rows],
        "condition": each("condition", words.value),
        "score": score,
        "category": each("category", partial(word, "names.")),
        # On a scale that is shown turned the lower end is the higher one.
        "interval": [None if None in pair else tuple(sorted(pair)) for pair in ends],
        "label": each("label", lambda label: words.label(float(label))),
        "error": [None if None in pair else pair[0] - pair[1] for pair in gaps],
        "doubt": each("uncertainty", partial(word, "level_")),
        "confidence": each("confidence", float),
        "issues": [
            "; ".join(outcome.issues) or None if isinstance(outcome, Verdict) else None
            for outcome in outcomes
        ],
        "review": [words.text("common.yes") if row["review"] else None for row in rows],
        "failed": each("error", partial(word, "failure.")),
    }


def cut(text: str, most: int) -> str:
    """A text, cut to at most so many characters."""
    return text if len(text) <= most else text[:most].rstrip() + "…"


def shorten(text: str, most: int = EXCERPT) -> str:
    """One line of at most so many characters."""
    return cut(" ".join(text.split()), most)
