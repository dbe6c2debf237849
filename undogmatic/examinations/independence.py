"""Tells how many independent groups the texts of a run form, and withholds a verdict from texts
that the judge has seen, from labels that were chosen, and from too few answers."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.datasets.belonging import EDITED, grouped
from undogmatic.examinations.ruling import Facts, Ruling, verdict
from undogmatic.examinations.ruling.independence import (
    CHOSEN,
    FAILED,
    SEEN,
    ChosenFacts,
    FailedFacts,
    SeenFacts,
)
from undogmatic.records.labels import IN_VIEW, PROBABILITY, chosen
from undogmatic.records.records import TYPED_GROUP, Item
from undogmatic.records.results import Told

NAME = "units"
MOST_GROUPS, MOST_NAMED = 10, 4


def units(items: Sequence[Item]) -> Told:
    """How many independent groups the texts form and by what; the copies and near-copies among
    them; the largest groups that are more than a pair. Its findings are said once per run, whatever
    is analysed."""
    all_groups, alone = grouped(items)
    n_groups = len(all_groups) + alone
    copied = [group for group in all_groups if group.copied]
    tell, n_copied = Told(NAME), sum(len(group.copied) for group in copied)
    for name, value in (
        ("texts", len(items)),
        ("groups", n_groups),
        ("copies", n_copied),
    ):
        tell.number(value, name, unit="count")
    values = {"texts": len(items), "groups": n_groups}
    typed = {
        # An empty one says that the item stands alone, because somebody said so.
        bool(item.metadata[TYPED_GROUP])
        for item in items
        if TYPED_GROUP in item.metadata
    }
    # An instrument test makes its groups itself: a text and its edits.
    if typed and any(EDITED in item.metadata for item in items):
        tell.say("edited", values)
    elif typed:  # which texts are alike makes no difference then
        tell.say("typed" if True in typed else "typed_none", values)
    else:
        tell.say("apart" if n_groups == len(items) else "groups", values)
    if copied:
        # Two that can be looked at; the first two are not tied to each other by anything else.
        one, other = max(copied, key=lambda group: len(group.copied)).copied[:2]
        tell.say("copies", values, n=n_copied, one=one, other=other)
    elif not typed:
        tell.say("no_copies")
    if n_groups == 1 < len(items):
        tell.say("one", values)
    largest = []
    for group in sorted(all_groups, key=lambda group: -len(group.ids)):
        # Copies first: all else was known to whoever made the dataset.
        tie = (
            "copies"
            if group.copied
            else next((t for t in group.ties if t not in ("copies", "pair")), "pair")
        )
        texts = ", ".join(group.ids[:MOST_NAMED])
        # of "pair p3" or "item test-1" the name alone
        unit = group.name.partition(" ")[2]
        largest += (
            [{"unit": unit, "n": len(group.ids), "tied_by": tie, "texts": texts}]
            if tie != "pair"
            else []
        )
    if largest:
        tell.tables["largest"] = pd.DataFrame(largest[:MOST_GROUPS])
    return tell.result(texts=(Path(__file__).with_name("independence.texts.yaml"),))


def withheld(results: Sequence[Told], seen: int, texts: int) -> list[Told]:
    """The results of all analyses of a run, none of which supports a judge by texts that it has
    seen.

    Of so many `texts` that were judged, `seen` were used to fit what judged them, or are shown to
    it as examples.
    """
    ruling = verdict(SEEN, SeenFacts(seen, texts))
    return [
        _overruled(each, ruling) if seen and each.standing == "supported" else each
        for each in results
    ]


OF_LABELS = ("labelled", "calibration", "conformal", "escalation")
"""Analyses that hold a judge against people's labels."""


def of_chosen_labels(results: Sequence[Told], frame: Any) -> list[Told]:
    """The results of all analyses of a run, none of which supports a judge by labels of items that
    were chosen for a review queue rather than drawn, or by labels that were given with its score in
    view; `frame` has the run's rows."""
    # Nothing is taken back from who was not supported.
    if not any(
        each.name in OF_LABELS and each.standing == "supported" for each in results
    ):
        return list(results)
    labelled = np.asarray(frame["label"].notna())
    told = {
        name: pd.to_numeric(frame[column], errors="coerce").to_numpy(np.float64)[
            labelled
        ]
        for name in (PROBABILITY, IN_VIEW)
        if (column := f"metadata.{name}") in frame
    }
    probabilities, in_view = (
        told.get(name, np.array([])) for name in (PROBABILITY, IN_VIEW)
    )
    facts = ChosenFacts(
        chosen=chosen(probabilities.tolist()),
        certain=int((probabilities == 1).sum()),
        seen=int((in_view == 1).sum()),
        labels=int(labelled.sum()),
    )
    # Labels that were drawn, and given without the score in view, are what analyses take them
    # for.
    if not facts.chosen and not facts.seen:
        return list(results)
    ruling = verdict(CHOSEN, facts)
    return [
        _overruled(r, ruling)
        if r.name in OF_LABELS and r.standing == "supported"
        else r
        for r in results
    ]


def _overruled(result: Told, ruling: Ruling[Facts]) -> Told:
    """The result with this verdict in place of its own; what tests no claim tests none
    afterwards."""
    return replace(
        result, verdict=ruling.finding, standing=result.standing and ruling.standing
    )


class Failed(NamedTuple):
    """Failed judgments of a run: how many of how many, and the reason that most of them have."""

    n: int
    total: int
    reason: str
    n_reason: int

    @classmethod
    def of(cls, errors: Iterable[pd.Series]) -> "Failed":
        """From the column `error` of the run's rows, in parts. A judge that chose differently in
        the two orders of two outputs did answer; what that means is told by `analysis=preference`.
        """
        reasons, total = Counter[str](), 0
        for part in errors:
            # In parts, as the table of a large run lies on disk.
            reasons.update(part[part != "undecided"].dropna())
            total += len(part)
        reason, n_reason = next(iter(reasons.most_common(1)), ("", 0))
        return cls(reasons.total(), total, reason, n_reason)

    def too_many(self, allowed: float) -> bool:
        """Whether more than the share `allowed` failed."""
        return self.total > 0 and self.n > allowed * self.total


def too_many_failed(
    results: Sequence[Told], failed: Failed, allowed: float
) -> list[Told]:
    """The results of all analyses of a run, `units` first, without a verdict other than that more
    judgments failed than the share `allowed` (`engine.max_failures`), where they did; the first
    result says so if none has one.
    """
    if not failed.too_many(allowed):
        return list(results)
    facts = FailedFacts(
        failed=failed.n,
        total=failed.total,
        share=failed.n / failed.total,
        allowed=allowed,
        n_reason=failed.n_reason,
        reason=f"failed_{failed.reason}",
        advice=f"advice_{failed.reason}",
    )
    ruling = verdict(FAILED, facts)
    first = next(
        (result for result in results if result.verdict is not None), results[0]
    )
    return [
        _overruled(each, ruling) if each is first or each.verdict is not None else each
        for each in results
    ]
