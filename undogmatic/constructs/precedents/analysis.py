"""Tells which precedents the judged texts cite, and what a table of precedents knows of each; no
score changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from undogmatic.constructs.precedents.describes import SAYINGS, Measured
from undogmatic.constructs.precedents.table import (
    OUTCOMES,
    STATUSES,
    LookedUp,
    Precedents,
)
from undogmatic.errors import ConfigError
from undogmatic.examinations.base import Unsuited
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.records.results import Told


@dataclass(frozen=True)
class PrecedentsAnalysis:
    """Citations by outcome and by text, and whether the texts describe what was decided, where
    words tell that.

    Args:
        lookup: The grammar of citations and the table.
        required: Whether a dataset that cites nothing is told of, too; else it does not suit the
            analysis.
        redact: Whether the report may name nothing that a text names: counts alone.
    """

    name: ClassVar[str] = "precedents"
    long: ClassVar[bool] = True
    lookup: Precedents
    required: bool = True
    redact: bool = False

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited where no text cites anything and that is not `required`; ConfigError,
        DataError."""
        _ = self.lookup.entries
        if self.lookup.describes == "judge":
            way = (
                "Give words, or ask one by `undogmatic precedents FILE precedents.describes=judge"
                " model=...`"
            )
            raise ConfigError(
                f"`precedents.describes` is judge, and an analysis asks no judge. {way}."
            )
        if not self.required and not any(
            map(self.lookup.look_up, _texts(judged).values())
        ):
            raise Unsuited(
                f"analysis={self.name} looks up what texts cite, and none here cites a precedent."
            )

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result without headline."""
        found = {
            item: self.lookup.look_up(text) for item, text in _texts(judged).items()
        }
        items = pd.DataFrame(
            [{"item_id": item} | counts(cited) for item, cited in found.items()]
        )
        tell = told(found, self.lookup.about, self.lookup.reliability, self.redact)
        # Where it alone was asked, the first sentence is the answer, which claims nothing of the
        # scores.
        summary = tell.findings.pop(0) if self.required else None
        return [tell.result(summary, items=items)]


def _texts(judged: RunEvidence) -> dict[str, str]:
    """What is judged of each item, all inputs together."""
    first = judged.frame.drop_duplicates("item_id")
    return dict(
        zip(first["item_id"].astype(str), first["text"].astype(str), strict=True)
    )


def counts(cited: Sequence[LookedUp]) -> dict[str, int]:
    """How many citations there are, and how many of each outcome and of what is said of them, where
    that is known."""
    total = {"citations": len(cited)} | {
        name: sum(one.outcome == name for one in cited) for name in OUTCOMES
    }
    said = [one.described.saying for one in cited if one.described]
    return total | ({name: said.count(name) for name in SAYINGS} if said else {})


def told(
    found: Mapping[str, Sequence[LookedUp]],
    about: Mapping[str, Any],
    known: Measured | None = None,
    redact: bool = False,
) -> Told:
    """What is told of the citations of each text; `known`: how often what is said of precedents is
    right, if it is."""
    tell = Told("precedents")
    citing = [(item, one) for item, cited in found.items() for one in cited]
    n_citing = sum(bool(cited) for cited in found.values())
    total = {"texts": len(found), "citing": n_citing}
    total |= counts([one for _, one in citing])
    for name, n in total.items():
        tell.number(float(n), name, unit="count")
    # What has changed is told by what it has become.
    summary = {
        name: n for name, n in total.items() if name not in (*SAYINGS, "changed")
    }
    statuses = [
        one.told.values["status"] for _, one in citing if one.outcome == "changed"
    ]
    summary |= {name: statuses.count(name) for name in STATUSES[1:]}
    tell.say("summary", summary, listed=total["found"] + total["changed"])
    if about["date"]:
        tell.say("table", about)
    else:
        tell.say("table_undated", {"n": about["n"]})
    if known is None:
        tell.say("not_examined")
    else:
        tell.number(known.right, "share_right", unit="share")
        if known.useful:
            tell.say("described", {name: total.get(name, 0) for name in SAYINGS})
        tell.say(known.told.key, known.told.values)
    if redact:
        tell.say("redacted")
        return tell
    cites = [
        {"item_id": item, "cites": "; ".join(one.shown for one in cited)}
        for item, cited in found.items()
        if cited
    ]
    doubtful = [_row(item, one) for item, one in citing if _is_doubtful(one)]
    for name, rows in (("cites", cites), ("doubtful", doubtful)):
        if rows:
            tell.tables[name] = pd.DataFrame(rows).fillna("")
    return tell


def _is_doubtful(one: LookedUp) -> bool:
    """Whether somebody should look at a citation: the table does not have it as it is, or what is
    said of it is something else."""
    if one.outcome != "found":
        return True
    return one.described is not None and one.described.saying == "otherwise"


def _row(item: str, one: LookedUp) -> dict[str, str]:
    """A citation as a row of the table of those that are doubtful."""
    row = {
        "item_id": item,
        "cited": one.shown,
        "outcome": one.outcome,
        "entries": "; ".join(entry.shown for entry in one.entries),
        "status": one.told.values.get("status", ""),
        "note": one.told.values.get("note", "").removeprefix(": "),
    }
    if one.described is not None:
        row |= {"said": one.described.saying, "like": one.described.like}
    return row
