"""Tells whether a judge of runs says where a run goes wrong: the step that it names beside the step
that commits the planted defect.

Also whether what it says of steps foretells how their run ends.

A rule that reads nothing may do as well, as many a defect shows in the last step: so the judge is
held against the place that is named best without looking, counted from the start or from the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd

from undogmatic.datasets.cells import fold
from undogmatic.datasets.vocabulary import FAILS, PASSES
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import SLICE, JudgeView, Kind
from undogmatic.records.examination import Examination
from undogmatic.records.results import Told, Weight
from undogmatic.stats import means, ranking
from undogmatic.stats.checks import Array
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import proportion

AT, NAMED, LENGTH = "defect_step", "named_step", "steps"
"""Columns: the step that commits the defect, the one that the judge named, how many there are."""
SCALED: tuple[Kind, ...] = ("numeric", "ordered", "pass_fail")
FEWEST = 5
"""With fewer runs nothing is told."""
PLANTED = (AT, NAMED, "edit")
"""Columns that tell what was planted, or what the judge saw of it: no explanation of its verdicts
by anything else."""
RUN, ENDED = "run", "run_success"
"""Columns of steps: of which run each is, and how that ended."""
_NUMBER = re.compile(
    r"\[(\d{1,5})[^\]]{0,12}\]|\b(?:step|passo)\s+#?(\d{1,5})\b", re.IGNORECASE
)


def named_step(texts: Iterable[str | None]) -> int | None:
    """The number of the first step that is named in the words of a judge, as [4] or step 4."""
    for text in texts:
        if text and (found := _NUMBER.search(text)) is not None:
            return int(found[1] or found[2])
    return None


def steps_of(view: JudgeView) -> pd.DataFrame:
    """The items in which a step commits a defect: that step (`at`), the one that the judge named
    (`named`, NaN for none), how many steps there are (`steps`), and their group."""
    items = view.table.items
    said = view.first().drop_duplicates("item").set_index("item")
    columns = {}
    for name in (AT, NAMED, LENGTH):
        held = items.get(name, items.get(SLICE + name))
        if held is None:
            held = pd.Series(np.nan, items.index)
        columns[name] = pd.to_numeric(held, errors="coerce").reindex(said.index)
    # A judge of a run here says the step by itself; of another one a column may hold it.
    named = said["step"] if "step" in said else columns[NAMED]
    rows = pd.DataFrame(
        {
            "at": columns[AT],
            "named": pd.to_numeric(named, errors="coerce"),
            "steps": columns[LENGTH],
            "group": said["group"],
        }
    )
    return rows[rows["at"].notna() & said["verdict"].notna()]


def best_place(rows: pd.DataFrame) -> tuple[str, int, pd.Series]:
    """The place that names the step best without looking: from the start or from the end, which
    one, and in which rows it is right."""
    found = []
    for side, distance in (
        ("end", rows["steps"] - 1 - rows["at"]),
        ("start", rows["at"]),
    ):
        known = distance.dropna()
        if len(known):
            place = int(known.mode().iloc[0])
            # The most frequent place is chosen on these very runs, so that the rule is as good as
            # it can be: the judge must beat that.
            found.append((side, place, (distance == place).astype(float)))
    return max(found, key=lambda rule: rule[2].mean())


def _examine(view: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell how often the judge names the step, how far off it is, and what a rule reaches."""
    rows = steps_of(view)
    n, level = len(rows), options.level
    named = rows[rows["named"].notna()]
    if rows["group"].nunique() < FEWEST:
        told.lacks("steps", "steps.few", n=n, least=FEWEST)
        return
    if named.empty:
        told.say("steps.none_named", n=n)
        return
    groups = rows["group"].tolist()
    right = (rows["named"] == rows["at"]).astype(float)
    near = ((rows["named"] - rows["at"]).abs() <= 1).astype(float)
    side, place, fixed = best_place(rows)
    exact = proportion(right, level, groups=groups)
    told.number(exact, "steps.exact", unit="share")
    told.number(proportion(near, level, groups=groups), "steps.near", unit="share")
    told.number(proportion(fixed, level, groups=groups), "steps.fixed", unit="share")
    lead = means.interval(right - fixed, level, groups=groups, bounds=(-1.0, 1.0))
    told.number(lead, "steps.lead", unit="share")
    facts = {
        "named": len(named),
        "near": float(near.mean()),
        "fixed": float(fixed.mean()),
        "place": place,
        "start": int(side == "start"),
        "level": level,
    }
    if named["group"].nunique() >= FEWEST:
        off = (named["named"] - named["at"]).abs()
        error = means.interval(off, level, groups=named["group"].tolist())
        told.number(error, "steps.error")
        facts["off"] = error.value
    else:
        facts["off"] = float((named["named"] - named["at"]).abs().mean())
    key, weight = "steps.open", Weight.QUALIFIES
    if lead.low > 0:
        key, weight = "steps.beyond", Weight.DETAIL
    elif lead.high < 0:
        key = "steps.below"
    told.say(key, facts, exact.values("share"), n=n, weight=weight)


def ends_of(view: JudgeView) -> pd.DataFrame:
    """The runs of which it is known how they ended and whose steps the judge looked at: the worst
    of its verdicts on their steps (`worst`), how many these are (`steps`), whether the run failed
    (`failed`), and the group. Of scores the low end is taken to be the worse one."""
    items = view.table.items
    said = view.first().drop_duplicates("item").set_index("item")
    run, ended = (items.get(SLICE + name) for name in (RUN, ENDED))
    if run is None or ended is None:
        return pd.DataFrame(
            {name: [] for name in ("worst", "steps", "failed", "group")}
        )
    word = ended.reindex(said.index).map(
        lambda cell: fold(cell) if isinstance(cell, str) else None
    )
    known = (
        word.isin(PASSES | FAILS | {"0", "1", "0.0", "1.0"}) & said["verdict"].notna()
    )
    rows = pd.DataFrame(
        {
            "run": run.reindex(said.index)[known],
            "verdict": said["verdict"][known],
            "failed": word[known].isin(FAILS | {"0", "0.0"}),
            "group": said["group"][known],
        }
    )
    by_run = rows.groupby("run", sort=False)
    # One bad step makes a run fail, however good the others were; a mean would hide it.
    columns = {"worst": by_run["verdict"].min(), "steps": by_run.size()}
    return pd.DataFrame(columns | {c: by_run[c].first() for c in ("failed", "group")})


def _foretell(view: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell whether the worst verdict on a run's steps says how the run ended, beside what their
    number says."""
    runs, level = ends_of(view), options.level
    sides = [runs[runs["failed"]], runs[~runs["failed"]]]
    if any(side["group"].nunique() < FEWEST for side in sides):
        told.lacks("foretell", "foretell.few", n=len(runs), least=FEWEST)
        return
    own, other = (side["group"].tolist() for side in sides)

    def apart(values: list[Array]) -> Estimate:
        return ranking.auc(values[0], values[1], level, groups_a=own, groups_b=other)

    area = apart([(-side["worst"]).to_numpy(dtype=np.float64) for side in sides])
    by_length = apart([side["steps"].to_numpy(dtype=np.float64) for side in sides])
    # Long runs may fail more often, or less: whoever counts steps needs not know which
    # beforehand.
    rival = max(by_length.value, 1 - by_length.value)
    told.number(area, "foretell.area", unit="share")
    facts = {"failed": len(sides[0]), "length": rival, "level": level}
    key = "foretell.shown" if area.low > max(0.5, rival) else "foretell.open"
    # Below one half even with its upper limit, verdicts foretell the opposite.
    key = "foretell.reversed" if area.high < 0.5 else key
    weight = Weight.DETAIL if key == "foretell.shown" else Weight.QUALIFIES
    told.say(key, facts, area.values("area"), n=len(runs), weight=weight)


FORETELL = Examination(
    "foretell",
    _foretell,
    needs=("ends",),
    kinds=SCALED,
    decides=False,
    lacks={"ends": "", "kinds": ""},
)
"""Whether its verdicts on steps foretell how their run ends."""
STEPS = Examination(
    "steps",
    _examine,
    needs=("steps",),
    kinds=SCALED,
    decides=False,
    lacks={"steps": "", "kinds": ""},
)
"""Whether it says where a run goes wrong."""
