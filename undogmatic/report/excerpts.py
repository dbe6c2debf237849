"""Shows judged texts and failures that a reader should look at, shortened. Both are hostile: `document` escapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from undogmatic.analyses.improvement import AFTER
from undogmatic.records.records import Failure, Item, Judgment, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.report.document import Block, Heading, Paragraph, Quote, Table
from undogmatic.report.words import Words, missing
from undogmatic.runs.outcome import FinishedRun
from undogmatic.safety.secrets import redacted

EXCERPT = 280  # characters of a judged text
MOST_FAILURES = 40
ITEMS_EACH = 3


def failure_counts(run: FinishedRun, words: Words) -> str:
    """Failed judgments by kind: "refused: 3, unreadable answer: 1"."""
    kinds = Counter(str(kind) for kind in run.frame["error"].dropna())
    return ", ".join(f"{words.find(f'common.failure.{k}') or k}: {words.number(n)}" for k, n in kinds.most_common())


def failures(run: FinishedRun, words: Words) -> Iterator[Block]:
    """The first MOST_FAILURES failed judgments with kind and message, and how many more there are."""
    by_key = _by_key(run)
    rows = []
    failed = run.frame[run.frame["error"].notna()]
    for row in failed.head(MOST_FAILURES).to_dict("records"):
        judgment = by_key.get(_key(row))
        outcome = judgment.outcome if judgment is not None else None
        message = outcome.message if isinstance(outcome, Failure) else ""
        kind = words.find(f"common.failure.{row['error']}") or str(row["error"])
        rows.append((_named(row, run), kind, shorten(message)))
    headers = [words.text(f"common.failure_{key}") for key in ("item", "kind", "message")]
    yield Table(headers, rows)
    if len(failed) > MOST_FAILURES:
        yield Paragraph(words.text("common.note.failures_more", more=len(failed) - MOST_FAILURES), "small")


def items(run: FinishedRun, words: Words) -> Iterator[Block]:
    """The texts with the highest, lowest and least certain scores, and those marked for review; of an optimisation by
    the program that it came to, as in all analyses."""
    first = run.frame[(run.frame["repeat"] == 0) & run.frame["error"].isna()]
    first = first[first["judge"] == AFTER] if run.programs else first
    by_key = _by_key(run)
    unsure = first.sort_values("confidence", kind="stable")
    lists: dict[str, pd.DataFrame] = {
        "highest": first.sort_values("score", ascending=False, kind="stable"),
        "lowest": first.sort_values("score", kind="stable"),
        "uncertain": unsure[unsure["confidence"].notna()],
        "review": first[first["review"].astype(bool)],
    }
    yield Heading(words.text("common.items_title"))
    intro = "items_redacted" if run.settings.redacted else "items_intro"
    yield Paragraph(words.text(f"common.{intro}", length=EXCERPT))
    judged = {item.id: item for item in run.items}
    seen: set[str] = set()
    for key, frame in lists.items():
        rows = frame[~frame["item_id"].isin(seen)].head(ITEMS_EACH)
        if rows.empty:
            continue
        yield Heading(words.text(f"common.items_{key}"), level=3)
        for row in rows.to_dict("records"):
            seen.add(row["item_id"])
            item = judged[row["item_id"]]
            text = redacted(item.text) if run.settings.redacted else _excerpt(item, run.rubric, words)
            yield _quote(row, by_key[_key(row)], _named(row, run), text, words)


def _named(row: Mapping[Any, Any], run: FinishedRun) -> str:
    """The item, and whose judgment of it this is where there are several."""
    part = run.parts[row["judge"], row["criterion"]]
    return f"{row['item_id']}, {part}" if part else str(row["item_id"])


def _by_key(run: FinishedRun) -> dict[tuple[Any, ...], Judgment]:
    return {(j.item_id, j.judge, j.criterion, j.repeat): j for j in run.judgments}


def _key(row: Mapping[Any, Any]) -> tuple[Any, ...]:
    """By which judgment a row of the table was made."""
    return row["item_id"], row["judge"], row["criterion"], row["repeat"]


def _excerpt(item: Item, rubric: Rubric, words: Words) -> str:
    """What was judged, shortened; under headings where the rubric shows several inputs."""
    shown = [name for name in rubric.inputs if name in item.inputs]
    if len(shown) < 2:
        return shorten(item.inputs[shown[0]] if shown else item.text)
    wording = rubric.wordings.get(words.language)
    headings = wording.headings if wording is not None else {}
    return "\n".join(f"{headings.get(name, name)}: {shorten(item.inputs[name])}" for name in shown)


def _quote(row: Mapping[Any, Any], judgment: Judgment, name: str, text: str, words: Words) -> Quote:
    verdict = judgment.outcome
    assert isinstance(verdict, Verdict)
    facts = []
    for field in ("score", "category", "interval", "confidence", "uncertainty"):
        value = getattr(verdict, field)
        if value is None:
            continue
        if field == "uncertainty":
            facts.append(_uncertainty(verdict, words))
        else:
            key = f"{field}_{verdict.confidence_source}" if field == "confidence" else field
            facts.append(words.text(f"common.item_{key}", **{field: value}))
    if not missing(row["label"]):
        facts.append(words.text("common.item_label", label=row["label"]))
    condition = "" if row["condition"] is None else f" ({words.value(row['condition'])})"
    below = [] if verdict.rationale is None else [("rationale", verdict.rationale)]
    if verdict.issues:
        below.append(("issues", "; ".join(verdict.issues)))
    if verdict.details:
        details = (f"{k} {words.number(v, 'g') if isinstance(v, float) else v}" for k, v in verdict.details.items())
        below.append(("details", "; ".join(details)))
    lines = " ".join(f"{words.text(f'common.{key}')} {shorten(line)}" for key, line in below)
    return Quote(f"{name}{condition}: {'; '.join(facts)}", text, lines or None)


def _uncertainty(verdict: Verdict, words: Words) -> str:
    """The level, and where the judge says it, what gives it: the confidence beside it may come from something else."""
    level, known = words.text(f"common.level_{verdict.uncertainty}"), verdict.details.get("level_from")
    if not isinstance(known, str):
        return words.text("common.item_uncertainty", level=level)
    sources = ", ".join(words.find(f"common.level_from_{name}") or name for name in known.split(", "))
    return words.text("common.item_uncertainty_from", level=level, sources=sources)


def shorten(text: str) -> str:
    """One line of at most EXCERPT characters."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else line[:EXCERPT].rstrip() + "…"
