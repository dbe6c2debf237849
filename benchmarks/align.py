"""By how much the agreement that is reported exceeds that on fresh texts, where a prompt is edited
beside the labels: tuned on all of them, and in `undogmatic align`.

    python -m benchmarks.align --seeds 1000 --write

A simulated judge agrees with people on three texts of four. Each of 20 edits turns what it says of
one text in five, as often right as wrong but for what the edit is worth; whoever edits goes on from
the best edit so far. What a prompt is worth on fresh texts is known, as the judge is simulated. One
row per number of labels and worth of an edit lies in results/align.csv, in points (hundredths):

- all: the best edit on all labels, and its agreement with these labels;
- tuning: the best edit on the tuning part, and its agreement there, marked as tuned on;
- one_look: the same edit, and what one look at the held-out part reports of it;
- every_look: a look after every edit, the edit that did best on the held-out part, and what is
  reported of it (`session.Look.reported`; where it is not shown to be better, the first prompt's).

`noise_said` is the share of sessions in which the last edits are said to fit noise (`session.fit`),
`yes` those in which the one look says Yes, `gained` what the edit that was tuned on the tuning part
truly gained.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.review.session import Look, answer, fit

RESULTS = Path(__file__).parent / "results"
EDITS = 20
FIRST = 0.75
"""Share of fresh texts on which the first prompt agrees."""
TURNED = 0.2
"""Share of texts of which an edit turns the verdict."""
Array = NDArray[np.float64]


class Prompt(NamedTuple):
    """Whether the judge agrees with people on each labelled text (1 or 0), and on what share of
    fresh ones it would."""

    agrees: Array
    worth: float


def edited(parent: Prompt, more: float, draw: np.random.Generator) -> Prompt:
    """Another prompt, which agrees on so many `more` of fresh texts than its parent, as far as
    there is room."""
    right = float(np.clip((TURNED + more) / 2 / max(1 - parent.worth, 1e-9), 0, 1))
    wrong = float(np.clip((TURNED - more) / 2 / parent.worth, 0, 1))
    luck = draw.random(len(parent.agrees))
    agrees = np.where(parent.agrees == 1, luck >= wrong, luck < right).astype(float)
    return Prompt(agrees, parent.worth * (1 - wrong) + (1 - parent.worth) * right)


def session(
    first: Prompt, seen: NDArray[np.bool_], worth: float, seed: int
) -> list[Prompt]:
    """The first prompt and all edits in order, each made from the best so far by the texts that
    are seen; and the best of all last."""
    draw = np.random.default_rng([seed, 3])
    course, tried = [first], [first]
    for _ in range(EDITS):
        tried.append(edited(course[-1], draw.normal(0, worth), draw))
        better = tried[-1].agrees[seen].mean() > course[-1].agrees[seen].mean()
        course.append(tried[-1] if better else course[-1])
    return [*tried, course[-1]]


def exceeds(
    first: Prompt, edit: Prompt, held: NDArray[np.bool_], look: int
) -> tuple[float, Look]:
    """By how much what a look reports exceeds the agreement on fresh texts of the prompt that it is
    reported of, and the look."""
    groups = [str(n) for n in range(int(held.sum()))]
    found = answer(
        list(zip(first.agrees[held], edit.agrees[held], strict=True)), groups, look
    )
    of_first = look > 1 and found.answer != "yes"
    return found.reported - (first.worth if of_first else edit.worth), found


def trial(n: int, worth: float, seed: int) -> dict[str, float]:
    """One person's twenty edits, in each way."""
    draw = np.random.default_rng([seed, n])
    first = Prompt((draw.random(n) < FIRST).astype(float), FIRST)
    every = np.ones(n, dtype=bool)
    tuning = np.isin(np.arange(n), draw.permutation(n)[: n // 2])
    held = ~tuning
    *_, best = session(first, every, worth, seed)
    row = {"all": float(best.agrees.mean()) - best.worth}
    *tried, best = session(first, tuning, worth, seed)
    row["tuning"] = float(best.agrees[tuning].mean()) - best.worth
    excess, look = exceeds(first, best, held, 1)
    row |= {"one_look": excess, "yes": float(look.answer == "yes")}
    row["gained"] = best.worth - FIRST
    places = {str(place): str(place) for place in np.flatnonzero(tuning)}
    agrees = [
        {place: float(edit.agrees[int(place)]) for place in places} for edit in tried
    ]
    row["noise_said"] = float(fit(agrees, places).is_noise)
    # who looks after each edit tunes on it
    *tried, _ = session(first, held, worth, seed)
    place = int(np.argmax([edit.agrees[held].mean() for edit in tried[1:]]))
    row["every_look"] = exceeds(first, tried[1 + place], held, 1 + place)[0]
    return row


def run(seeds: int) -> pd.DataFrame:
    """The means over so many sessions."""
    rows = []
    for n in (100, 200, 400):
        for worth in (0.0, 0.02, 0.05):
            found = pd.DataFrame([trial(n, worth, seed) for seed in range(seeds)])
            points = ["all", "tuning", "one_look", "every_look", "gained"]
            found[points] *= 100
            row = {"labels": n, "worth": 100 * worth, "sessions": seeds}
            rows.append(row | found.mean().to_dict() | {"se": found["one_look"].sem()})
            print(rows[-1], flush=True)
    return pd.DataFrame(rows).round(2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    table = run(arguments.seeds)
    if arguments.write:
        table.to_csv(RESULTS / "align.csv", index=False)
