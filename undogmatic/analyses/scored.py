"""Holds the scores of a run against all that `undogmatic check` holds against verdicts made
elsewhere, so that the same judge on the same texts gets the same answer from both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from undogmatic.analyses import people, rivals, surface
from undogmatic.analyses.base import LongTable, texts_of
from undogmatic.analyses.independence import TOGETHER
from undogmatic.analyses.truth import units
from undogmatic.datasets.faults import counts_rows
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import LABEL_COLUMNS, SLICE, Evidence, JudgeView
from undogmatic.records.records import OVERALL
from undogmatic.records.results import Finding

TEXTS = tuple(Path(__file__).with_name(f"{name}.texts.yaml") for name in ("surface", "scored"))
"""The files with the words of `against`."""
_METADATA = "metadata."
_MADE = {
    "identical": "scored.identical",
    "in_step": "scored.in_step",
    "consensus": "scored.consensus",
}


def against(judged: LongTable, rows: pd.DataFrame, level: float, least: float) -> Finding | None:
    """What speaks against scores that follow the labels, as a sentence; None where nothing does.

    Args:
        judged: The run. rows: The labelled texts of one judge and criterion, first repeat, in the
            order of the dataset.
        level, least: Of intervals; the rank correlation that is asked for.
    """
    own = as_verdicts(judged, rows)
    done = rows[rows["error"].isna() & rows["item_id"].isin(own.table.items.index)]
    if any(each.sign for each in people.copies("numeric", own.pairs(), own.judge)):
        return Finding("scored.identical", {"n": len(done)})
    if (made := people.made_from("numeric", own.pairs())) is not None:
        return Finding(_MADE[made], {"n": len(done)})
    columns = [
        own.table.items.loc[done["item_id"], name]
        for name in own.table.items
        if name.startswith(SLICE)
    ]
    numeric = [column.to_numpy() for column in columns if pd.api.types.is_numeric_dtype(column)]
    if counts_rows(done["score"].to_numpy(dtype=np.float64), done["item_id"].tolist(), numeric):
        return Finding(
            "scored.counts_rows", {"values": [f"{score:g}" for score in done["score"][:3]]}
        )
    found = surface.surface_rival(own, CheckOptions(level=level, least=least))
    return None if found.outcome == "beyond" else surface.rival_sentence(found)


def equal(judged: LongTable, rows: pd.DataFrame) -> Finding | None:
    """What is asked where all scores are a person's labels, and nothing else says that they were
    copied; else None.

    Args:
        judged, rows: As in `against`.
    """
    done = rows[rows["error"].isna()]
    if done.empty or not np.isclose(done["score"], done["label"].astype(float)).all():
        return None
    own = as_verdicts(judged, rows)
    found = [
        each.n for each in people.copies("numeric", own.pairs(), own.judge) if each.sign is None
    ]
    return Finding("scored.equal", {"n": min(found)}) if found else None


def as_verdicts(judged: LongTable, rows: pd.DataFrame) -> JudgeView:
    """The scores as verdicts beside what people said, of at most `rivals.MOST_TEXTS` texts, whole
    groups by chance."""
    groups = np.asarray(units(rows), dtype=object)
    rows = rows[rivals.drawn(groups, rivals.MOST_TEXTS, np.random.default_rng(0))]
    judge, items = str(rows["judge"].iloc[0]), rows["item_id"].astype(str)
    criterion = str(rows["criterion"].iloc[0])
    verdicts = pd.DataFrame(
        {
            "item": items,
            "judge": judge,
            "criterion": OVERALL,
            "repeat": 0,
            "order": None,
            "verdict": rows["score"],
            "confidence": np.nan,
            "reason": rows["error"],
            "place": rows["place"],
        }
    ).reset_index(drop=True)
    labels = []
    for item, mean in zip(items, rows["label"], strict=True):
        said = judged.said.get(item, {}).get(criterion, {})
        numbers = {rater: label for rater, label in said.items() if not isinstance(label, str)} or {
            "": mean
        }
        labels += [(item, OVERALL, rater, float(label)) for rater, label in numbers.items()]
    known = {"group": rows["group"].astype(str).to_numpy(), "text": texts_of(rows)}
    for name in map(str, rows.columns):
        key = name.removeprefix(_METADATA)
        if (
            name.startswith(_METADATA)
            and "label" not in key
            and key not in TOGETHER
            and rows[name].notna().any()
        ):
            known[SLICE + key] = rows[name].to_numpy()
    about = pd.DataFrame(known, index=pd.Index(items, name="item"))
    said_of = pd.DataFrame(labels, columns=list(LABEL_COLUMNS))
    return Evidence("numeric", verdicts, said_of, about, scale=judged.scale).of(judge, OVERALL)
