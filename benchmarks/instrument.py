"""How often the instrument test finds planted faults of judges, and how often it accuses a clean
one: the examination itself, on made-up scores, without a model.

    python -m benchmarks.instrument [--draws 400] [--write]

A judge scores texts, their copies with eight cues and with 1, 2 and 4 planted defects, on 0-100
with a margin of 10. Every score has noise of its own (`noise`, a standard deviation in margins, also
that of the text a copy is compared with). A fault moves the copies with one cue by a number of
margins. A defect moves a copy by half a margin. `found`: the cue is called an effect. `accused`: the
answer is No. `clean`: nothing of this kind speaks against the judge. Intervals are exact binomial
ones of 95 %.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from undogmatic.examinations.instrument import InstrumentAnalysis
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.records.records import Cost, Item, Judgment, Provenance, Verdict
from undogmatic.records.results import Told
from undogmatic.records.rubric import NumericScale, Rubric, Wording

RESULTS = Path(__file__).with_name("results") / "instrument.csv"
COLUMNS = ("judge", "texts", "draws", "what", "share", "low", "high", "goal", "reached")
MARGIN = 10.0
CUES = tuple("abcdefgh")
STEPS = (1, 2, 4)
EDITS = ("original", *(f"cue.{c}" for c in CUES), *(f"ladder.planted.{s}" for s in STEPS))
BLANKS = 4
ORIGIN = Provenance(
    model="m", readout="r", prompt="p", prompt_hash="h", program_hash="h", config_hash="h"
)


class Judge(NamedTuple):
    """A planted judge: what moves it (in margins), its noise, and from which step on it rounds."""

    name: str
    fault: float = 0.0
    noise: float = 0.5
    step: float = 0.0
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


def _effect(told: Told) -> bool:
    table = told.tables["cues"].set_index("cue")
    return bool(table.loc["a", "outcome"] == "effect")


def _accused(told: Told) -> bool:
    return told.standing == "refuted"


def _clean(told: Told) -> bool:
    assert told.verdict is not None
    return told.verdict.key == "instrument.verdict_clean"


CLEAN = Asked("clean", _clean)
QUESTIONS: Mapping[Judge, tuple[Asked, ...]] = {
    Judge("fault of 0.5 margins", 0.5): (Asked("found", _effect, most=0.05), CLEAN),
    Judge("fault of 1 margin", 1.0): (Asked("found", _effect, most=0.05), CLEAN),
    Judge("fault of 1.5 margins", 1.5): (Asked("found", _effect, least=0.9), CLEAN),
    Judge("fault of 3 margins", 3.0): (Asked("found", _effect, least=0.9), CLEAN),
    Judge("clean"): (Asked("accused", _accused, most=0.05), Asked("clean", _clean, least=0.8)),
    Judge("clean, hardly any noise", noise=0.02): (Asked("accused", _accused, most=0.05), CLEAN),
    Judge("clean, noise of a margin", noise=1.0): (Asked("accused", _accused, most=0.05), CLEAN),
    Judge("clean, in steps of 10", step=10): (Asked("accused", _accused, most=0.05), CLEAN),
    Judge("fault of 1.5 margins, in steps of 10", 1.5, step=10): (Asked("found", _effect), CLEAN),
    Judge("always the same", constant=True): (Asked("accused", _accused, least=0.9), CLEAN),
}


@cache
def evidence(n: int) -> RunEvidence:
    """The rows of n texts and their copies, with a score of 0 each."""
    items = [_item(f"t{k}", edit) for k in range(n) for edit in EDITS]
    items += [_item(f"d{k}", "dark.blank") for k in range(BLANKS)]
    zero = Verdict(score=0.0)
    judgments = [
        Judgment(
            item_id=item.id, judge="score", outcome=zero, cost=Cost(calls=1), provenance=ORIGIN
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
    expected = {"cue": "same", "ladder": "worse", "dark": "nothing"}.get(edit.partition(".")[0])
    told = {"edit": edit, "typed_group": text}
    told |= {} if expected is None else {"expected": expected}
    told |= {"original": text} if expected in ("same", "worse") else {}
    name = text if edit == "original" else f"{text}+{edit}"
    return Item(id=name, inputs={"text": name}, metadata=told)


def scores(judge: Judge, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """What the judge says, in the order of `evidence`."""
    if judge.constant:
        return np.full(n * len(EDITS) + BLANKS, 50.0)
    effects = np.array([0.0, judge.fault, *(0.0 for _ in CUES[1:]), *(s / 2 for s in STEPS)])
    texts = rng.uniform(20, 60, n)
    said = texts[:, None] + MARGIN * effects[None, :]
    whole = np.concatenate([said.ravel(), np.full(BLANKS, 5.0)])
    whole += rng.normal(0, judge.noise * MARGIN, whole.size)
    if judge.step:
        whole = np.round(whole / judge.step) * judge.step
    return np.clip(whole, 0, 100)


def told(judge: Judge, n: int, seed: int) -> Told:
    """What the examination says of the judge."""
    rng = np.random.default_rng([seed, n, len(judge.name), round(100 * judge.fault)])
    judged = evidence(n)
    frame: pd.DataFrame = judged.frame.assign(score=scores(judge, n, rng))
    (found,) = InstrumentAnalysis()(judged.with_rows(frame), rng)
    return found


def main() -> None:
    """Print, and keep, how often each was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--write", action="store_true", help="keep it in benchmarks/results")
    chosen = parser.parse_args()
    kept = []
    print(f"{'judge':38}{'texts':>6}  {'what':8}{'share':>7}  interval        goal   reached")
    for judge, asked in QUESTIONS.items():
        for n in (40, 60):
            draws = 1 if judge.constant else chosen.draws
            results = [told(judge, n, seed) for seed in range(draws)]
            for each in asked:
                hits = sum(map(each.counts, results))
                share = hits / draws
                ends = stats.binomtest(hits, draws).proportion_ci(0.95)
                # A judge is to be called clean at 60 texts.
                goal = each._replace(least=None) if each.what == "clean" and n < 60 else each
                wanted = "" if goal.least is None else f">= {goal.least:g}"
                wanted = wanted if goal.most is None else f"<= {goal.most:g}"
                met = goal.reached(share)
                row = (judge.name, n, draws, each.what, share, ends.low, ends.high, wanted)
                kept.append((*row, "" if met is None else "yes" if met else "no"))
                print(
                    f"{judge.name:38}{n:>6}  {each.what:8}{share:>7.1%}  [{ends.low:.1%},"
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
