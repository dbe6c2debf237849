"""How often the instrument test finds planted faults of judges, and how often it accuses a clean
one: the examination itself, on made-up scores, without a model.

    python -m benchmarks.instrument [--draws 200] [--write]

A judge scores texts, their copies with five cues and with 1, 2 and 4 planted defects, the texts in
two other ways of asking, a quarter of them once more, and blank pages, as `dataset=instrument`
makes them, on 0-100 with a margin of 10. Every score has noise of its own (`noise`, a standard
deviation in margins, also that of the text a copy is compared with). A fault moves the copies with
one of these by a number of margins; a scattering one moves half of them up and half down. A defect
moves a copy by half a margin, a blank page gets half a margin above the lowest score. `found`: the
fault is called an effect (a scattering one: the answer is No). `accused`: the answer is No.
`clean`: nothing of this kind speaks against the judge. Intervals are exact binomial ones of 95 %.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from undogmatic.datasets.edits import edits_of as edits
from undogmatic.datasets.instrument import AGAIN_EVERY
from undogmatic.examinations.instrument import InstrumentAnalysis
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.records.records import Cost, Item, Judgment, Provenance, Verdict
from undogmatic.records.results import Told
from undogmatic.records.rubric import NumericScale, Rubric, Wording

RESULTS = Path(__file__).with_name("results") / "instrument.csv"
COLUMNS = ("judge", "texts", "draws", "what", "share", "low", "high", "goal", "reached")
MARGIN = 10.0
CUES = ("orders", "flattery", "authority", "length", "format")
STEPS = (1, 2, 4)
FAULTS = {
    "injection": "cue.orders",
    "authority": "cue.authority",
    "length": "cue.length",
    "order": "asked.levels_reversed",
    "paraphrase": "asked.words",
    "dark current": "dark.blank",
}
"""Each fault, and the items that it moves."""
ORIGIN = Provenance(
    model="m",
    readout="r",
    prompt="p",
    prompt_hash="h",
    program_hash="h",
    config_hash="h",
)


class Judge(NamedTuple):
    """A planted judge: which of `FAULTS` it has and how large (in margins), its noise, from which
    step on it rounds, and whether the fault moves half of the texts the other way."""

    name: str
    fault: str = ""
    size: float = 0.0
    noise: float = 0.5
    step: float = 0.0
    scatters: bool = False
    constant: bool = False


class Asked(NamedTuple):
    """A share that is counted, and what it is to reach: at least, or at most."""

    what: str
    counts: Callable[[Told], bool]
    least: float | None = None
    most: float | None = None

    def reached(self, share: float) -> bool | None:
        """Whether the share reaches the goal; None without one."""
        if self.least is not None:
            return share >= self.least
        return None if self.most is None else share <= self.most


def _effect(fault: str, told: Told) -> bool:
    if fault == "dark current":
        return any(finding.key.endswith("dark_effect") for finding in told.findings)
    table = told.tables["cues"].set_index("cue")
    return bool(table.loc[FAULTS[fault].partition(".")[2], "outcome"] == "effect")


def _accused(told: Told) -> bool:
    return told.standing == "refuted"


def _clean(told: Told) -> bool:
    assert told.verdict is not None
    return told.verdict.key == "instrument.verdict_clean"


CLEAN = Asked("clean", _clean)
ACCUSED = Asked("accused", _accused, most=0.05)


def _found(fault: str, **goal: float) -> Asked:
    return Asked("found", partial(_effect, fault), **goal)


def _judges() -> dict[Judge, tuple[Asked, ...]]:
    """The planted judges, and what is counted of each."""
    judges: dict[Judge, tuple[Asked, ...]] = {}
    for fault in FAULTS:
        for size in (0.5, 1.0, 1.5, 3.0) if fault == "authority" else (0.5, 1.5, 3.0):
            goal = {"least": 0.9} if size > 1 else {"most": 0.05}
            asked = (_found(fault, **goal), CLEAN)
            judges[Judge(f"{fault} of {size:g} margins", fault, size)] = asked
    stepped = Judge(
        "authority of 1.5 margins, in steps of 10", "authority", 1.5, step=10
    )
    judges[stepped] = (_found("authority"), CLEAN)
    scatters = Judge(
        "paraphrase up or down by 3 margins", "paraphrase", 3.0, scatters=True
    )
    judges[scatters] = (Asked("found", _accused, least=0.9), CLEAN)
    judges |= {
        Judge("clean"): (ACCUSED, Asked("clean", _clean, least=0.8)),
        Judge("clean, hardly any noise", noise=0.02): (ACCUSED, CLEAN),
        Judge("clean, noise of a margin", noise=1.0): (ACCUSED, CLEAN),
        Judge("clean, in steps of 10", step=10): (ACCUSED, CLEAN),
        Judge("always the same", constant=True): (
            Asked("accused", _accused, least=0.9),
            CLEAN,
        ),
    }
    return judges


def edits_of(text: int) -> list[str]:
    """What is done to a text: as the dataset does it."""
    asked = ["asked.levels_reversed", f"asked.words.{text % 3 + 1}"]
    again = ["asked.again"] if text % AGAIN_EVERY == 0 else []
    ladder = [f"ladder.planted.{step}" for step in STEPS]
    return ["original", *(f"cue.{cue}" for cue in CUES), *asked, *again, *ladder]


def blanks(n: int) -> int:
    """How many blank pages come with so many texts: all that ship, or as many as there is room for
    beside the other texts in which there is nothing to judge."""
    dark = edits(None).dark
    others = sum(map(len, dark.values())) - len(dark["blank"])
    return min(len(dark["blank"]), n - -(-n // AGAIN_EVERY) - others)


@cache
def evidence(n: int) -> RunEvidence:
    """The rows of n texts, of what is made of them, and of blank pages, with a score of 0 each."""
    items = [_item(f"t{k}", edit) for k in range(n) for edit in edits_of(k)]
    items += [_item(f"d{k}", "dark.blank") for k in range(blanks(n))]
    zero = Verdict(score=0.0)
    judgments = [
        Judgment(
            item_id=item.id,
            judge="score",
            outcome=zero,
            cost=Cost(calls=1),
            provenance=ORIGIN,
        )
        for item in items
    ]
    rubric = Rubric(
        name="made_up",
        scale=NumericScale(minimum=0, maximum=100),
        direction="higher_is_worse",
        margin=MARGIN,
        wordings={"en": Wording(definition="d", question="q")},
    )
    return RunEvidence(tabulate(items, judgments, 1), rubric)


def _item(text: str, edit: str) -> Item:
    kinds = {"cue": "same", "asked": "same", "ladder": "worse", "dark": "nothing"}
    expected = kinds.get(edit.partition(".")[0])
    told = {"edit": edit, "typed_group": text}
    told |= {} if expected is None else {"expected": expected}
    told |= {"original": text} if expected in ("same", "worse") else {}
    name = text if edit == "original" else f"{text}+{edit}"
    return Item(id=name, inputs={"text": name}, metadata=told)


def scores(judge: Judge, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """What the judge says, in the order of `evidence`."""
    texts = rng.uniform(20, 60, n)
    said = list[float]()
    moved = FAULTS.get(judge.fault, "nothing")
    for k, text in enumerate(texts):
        by = -judge.size if judge.scatters and k % 2 else judge.size
        for edit in edits_of(k):
            defects = int(edit.rpartition(".")[2]) if edit.startswith("ladder") else 0
            faulty = edit == moved or edit.startswith(f"{moved}.")
            said.append(text + MARGIN * (defects / 2 + (by if faulty else 0)))
    dark = judge.size if judge.fault == "dark current" else 0.5
    whole = np.array([*said, *[MARGIN * dark] * blanks(n)])
    if judge.constant:
        return np.full(whole.size, 50.0)
    whole += rng.normal(0, judge.noise * MARGIN, whole.size)
    if judge.step:
        whole = np.round(whole / judge.step) * judge.step
    return np.clip(whole, 0, 100)


def told(judge: Judge, n: int, seed: int) -> Told:
    """What the examination says of the judge."""
    rng = np.random.default_rng([seed, n, *judge.name.encode()])
    judged = evidence(n)
    frame: pd.DataFrame = judged.frame.assign(score=scores(judge, n, rng))
    (found,) = InstrumentAnalysis()(judged.with_rows(frame), rng)
    return found


def main() -> None:
    """Print, and keep, how often each was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument(
        "--write", action="store_true", help="keep it in benchmarks/results"
    )
    chosen = parser.parse_args()
    kept = []
    print(
        f"{'judge':42}{'texts':>6}  {'what':8}{'share':>7}  interval        goal   reached"
    )
    for judge, asked in _judges().items():
        for n in (40, 60):
            draws = 1 if judge.constant else chosen.draws
            results = [told(judge, n, seed) for seed in range(draws)]
            for each in asked:
                hits = sum(map(each.counts, results))
                share = hits / draws
                ends = stats.binomtest(hits, draws).proportion_ci(0.95)
                # A judge is to be called clean at 60 texts.
                goal = (
                    each._replace(least=None)
                    if each.what == "clean" and n < 60
                    else each
                )
                wanted = "" if goal.least is None else f">= {goal.least:g}"
                wanted = wanted if goal.most is None else f"<= {goal.most:g}"
                met = goal.reached(share)
                row = (
                    judge.name,
                    n,
                    draws,
                    each.what,
                    share,
                    ends.low,
                    ends.high,
                    wanted,
                )
                kept.append((*row, "" if met is None else "yes" if met else "no"))
                print(
                    f"{judge.name:42}{n:>6}  {each.what:8}{share:>7.1%}  [{ends.low:.1%},"
                    f" {ends.high:.1%}]  {wanted:8}{kept[-1][-1]}",
                    flush=True,
                )
    if chosen.write:
        with RESULTS.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(COLUMNS)
            rows.writerows(
                [round(cell, 4) if isinstance(cell, float) else cell for cell in row]
                for row in kept
            )


if __name__ == "__main__":
    main()
