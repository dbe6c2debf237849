"""The table that judging gives in Python: a row for each judgment, and in a notebook what was
judged and how."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from undogmatic.examinations.run_rows import tabulate
from undogmatic.records.records import Item, Judgment
from undogmatic.records.stored import whole
from undogmatic.safety.secrets import scrub

SHOWN = 20  # rows that a notebook shows of a table
_HTML = (
    "<p><b>{judged} of {total}</b> judged by {model}, readout {readout}, rubric {rubric}"
    " ({scale}).{failed}</p>"
)
COLUMNS = (
    "item_id judge criterion repeat score category low high confidence uncertainty is_uncertain"
    " revised_score doubt review rationale issues error message calls cached input_tokens"
    " output_tokens usd seconds pair_id condition label"
).split()


class Judgments(pd.DataFrame):
    """What `judge` returns: an ordinary DataFrame that says in a notebook what was judged, how, and
    what failed.

    Columns: item_id, judge, criterion, repeat, then score, category, low and high (of the
    interval), confidence, uncertainty, is_uncertain, revised_score (what a second look came to),
    doubt, review, rationale, issues, error and message (both None where there is a verdict), calls,
    cached, input_tokens, output_tokens, usd, seconds; pair_id, condition and label of the item.
    """

    _metadata = ["how"]  # noqa: RUF012  pandas' own protocol: attributes that a slice keeps

    @property
    def _constructor(self) -> type[Judgments]:
        return Judgments

    def _repr_html_(self) -> str:
        how = getattr(self, "how", None)
        shown = (
            pd.DataFrame(self)
            .head(SHOWN)
            .to_html(max_cols=14, escape=True, notebook=True, na_rep="")
        )
        if how is None or "error" not in self:
            return scrub(str(shown))
        errors = self["error"].dropna().value_counts()
        failed = ", ".join(
            f"{n} {html.escape(str(kind))}" for kind, n in errors.items()
        )
        facts: dict[str, Any] = {
            name: html.escape(str(value)) for name, value in how.items()
        }
        facts["failed"] = (
            failed
            and f" <b>Not judged: {failed}.</b> They have no score; `message` says why."
        )
        about = _HTML.format(
            **facts, judged=len(self) - int(errors.sum()), total=len(self)
        )
        return scrub(f"<div>{about}{shown}</div>")


def judged(
    items: Sequence[Item],
    judgments: Sequence[Judgment],
    repeats: int,
    expected: Sequence[tuple[str, str]],
    how: Mapping[str, str],
) -> Judgments:
    """The table of the items' judgments by the judges and criteria that are `expected`; `how` they
    were judged."""
    frame = whole(tabulate(items, judgments, repeats, expected))
    outcomes = {j.key: j.outcome for j in judgments}
    keys = frame[["item_id", "judge", "criterion", "repeat"]].itertuples(
        index=False, name=None
    )
    told = [outcomes.get(key) for key in keys]
    words = {
        name: [getattr(outcome, name, None) for outcome in told]
        for name in ("rationale", "message")
    }
    issues = [list(getattr(outcome, "issues", ())) for outcome in told]
    table = Judgments(frame.assign(**words, issues=issues)[COLUMNS])
    table.how = dict(how)
    return table
