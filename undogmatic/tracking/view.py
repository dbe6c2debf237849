"""Lets the table of an experiment's runs open with verdict and headline: a shared view of MLflow's
page, whose address `undogmatic ui` prints.

MLflow's own table opens with columns that tell nothing of a judge, and no setting of a store
changes them. A shared view, which its page makes by "Share", is a tag of the experiment.
"""

from __future__ import annotations

import json
from typing import Any

from undogmatic.safety.outside import Unreadable, json_value
from undogmatic.tracking.figures import ENDS, plain_key
from undogmatic.tracking.store import VIEW_TAG, Store

MOST = 6  # headlines that have columns of their own, the newest first
VERDICT = "tags.`verdict`"


def show(store: Store, headline: str | None) -> None:
    """Have the view show the verdict and, with its interval, this headline before those that it
    shows already."""
    shown = _headlines(store)
    if headline is None or plain_key(headline) in shown[:1]:
        return
    names = list(dict.fromkeys([plain_key(headline), *shown]))[:MOST]
    figures = [f"metrics.`{name}{end}`" for name in names for end in ("", *ENDS)]
    columns = [VERDICT, *figures]
    state: dict[str, Any] = {"selectedColumns": columns, "columnOrder": columns}
    state["columnWidths"] = {column: 80 + 6 * len(column) for column in figures}
    store.client.set_experiment_tag(store.experiment_id, VIEW_TAG, json.dumps(state))


def _headlines(store: Store) -> list[str]:
    """The headlines that the view shows, the newest first; none where there is no view, or another
    one wrote it."""
    experiment = store.client.get_experiment(store.experiment_id)
    try:
        state = json_value((experiment.tags or {}).get(VIEW_TAG) or "{}")
        columns = [str(name) for name in state["selectedColumns"]]
    except (Unreadable, KeyError, TypeError):
        return []
    names = [name.removeprefix("metrics.`").rstrip("`") for name in columns]
    return [
        name
        for name, column in zip(names, columns, strict=True)
        if column.startswith("metrics.`") and not name.endswith(ENDS)
    ]
