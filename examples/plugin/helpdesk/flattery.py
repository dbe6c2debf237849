"""Asks whether the judge is kinder than people to answers that thank whoever asked."""

import re

import numpy as np

from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import JudgeView
from undogmatic.records.examination import Examination
from undogmatic.records.results import Told, Weight
from undogmatic.stats import means

THANKS = re.compile(r"\bthank", re.IGNORECASE)


def examine(view: JudgeView, told: Told, options: CheckOptions) -> None:
    """Compare verdicts with labels among the answers that thank, and tell by how much they are
    higher."""
    pairs = view.pairs()
    texts = view.table.items["text"].reindex(pairs["item"]).fillna("")
    thanks = np.array([THANKS.search(text) is not None for text in texts])
    if pairs.loc[thanks, "code"].nunique() < FLATTERY.fewest_groups:
        told.lacks("flattery", "flattery.few", n=int(thanks.sum()))
        return
    kinder = (pairs["verdict"] - pairs["label"]).to_numpy(dtype=np.float64)[thanks]
    found = means.interval(
        kinder, options.level, groups=pairs["code"].to_numpy()[thanks], bounds=(-1, 1)
    )
    told.number(found, "kinder", unit="share")
    favours = found.low > 0
    told.say(
        "favours" if favours else "fair",
        found.values("kinder"),
        weight=Weight.LIMITS if favours else Weight.DETAIL,
        n=int(thanks.sum()),
    )


FLATTERY = Examination(
    "flattery",
    examine,
    needs=("labels", "texts"),
    kinds=("pass_fail",),
    fewest_groups=10,
)
