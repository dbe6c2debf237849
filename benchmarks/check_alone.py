"""How often is what a judge "may decide alone" promised wrongly, and how much of what it could
decide does it get?

    python -m benchmarks.check_alone --seeds 500 --write

Made-up judges whose chance of being right is a known function of their confidence. A promise is
broken where the true rate of agreement above the threshold is below the one promised. The best
possible share is that of a threshold set by somebody who knows the function. Results are in
results/check_alone.csv.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.examinations import alone, examination
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import Evidence
from undogmatic.records.results import Told

RESULTS = Path(__file__).parent / "results" / "check_alone.csv"
Array = np.ndarray[Any, Any]

JUDGES: dict[str, Callable[[Array], Array]] = {
    "good": lambda u: 1 - 0.1 * u,
    "mild": lambda u: 0.98 - 0.15 * u,
    "steep": lambda u: 1 - 0.35 * u**1.5,
    "few sure": lambda u: np.clip(0.995 - 0.6 * u, 0, 1),
    "at the promise": lambda u: np.full_like(u, 0.9),
    "just below": lambda u: np.full_like(u, 0.895),
    "overconfident": lambda u: 0.8 + 0.15 * u,
    "coin": lambda u: np.full_like(u, 0.5),
}
"""Chance of being right by doubt, which is uniform from 0 to 1."""


class Trial(NamedTuple):
    """The share that the judge may decide alone, and whether it agrees less often there than
    promised."""

    share: float
    broken: bool


def trial(right: Callable[[Array], Array], n: int, seed: int, items: int = 2) -> Trial:
    """One made-up judge with `n` labelled items out of `items` times as many."""
    rng = np.random.default_rng(seed)
    doubt = rng.random(items * n)
    truth = rng.integers(0, 2, doubt.size).astype(float)
    verdicts = np.where(rng.random(doubt.size) < right(doubt), truth, 1 - truth)
    names = [f"i{k}" for k in range(doubt.size)]
    said = pd.DataFrame(
        {"item": names, "judge": "j", "criterion": "c", "repeat": 0, "order": None}
    )
    said = said.assign(verdict=verdicts, confidence=1 - doubt, reason=None, place="")
    labels = pd.DataFrame(
        {"item": names[:n], "criterion": "c", "rater": "r", "label": truth[:n]}
    )
    about = pd.DataFrame({"group": names}, index=pd.Index(names, name="item"))
    table = Evidence(
        "pass_fail",
        said,
        labels,
        about,
        categories=("fail", "pass"),
        selection="random",
    )
    told, options = Told(), CheckOptions()
    examination.ask([alone.DECIDES_ALONE], table.of("j", "c"), options, told)
    limits = [
        noted.values["limit"].values["threshold"]
        for noted in told.findings
        if noted.key == "alone.share"
    ]
    if not limits:
        return Trial(0.0, False)
    share = 1 - limits[0]
    return Trial(share, bool(rate_up_to(right, share) < 1 - options.alpha - 1e-9))


def rate_up_to(right: Callable[[Array], Array], share: float) -> float:
    """True rate of agreement among the surest `share`."""
    return float(right((np.arange(2000) + 0.5) / 2000 * share).mean())


def best(right: Callable[[Array], Array], rate: float = 0.9) -> float:
    """The largest share with the promised rate."""
    shares = np.linspace(0.001, 1, 1000)
    return float(
        max(
            (share for share in shares if rate_up_to(right, share) >= rate - 1e-9),
            default=0.0,
        )
    )


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--labels", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = []
    for n in options.labels:
        for name, right in JUDGES.items():
            found = [trial(right, n, seed) for seed in range(options.seeds)]
            row: dict[str, Any] = {"judge": name, "labels": n, "seeds": options.seeds}
            row |= {"broken": round(float(np.mean([one.broken for one in found])), 4)}
            row |= {
                "share": round(float(np.mean([one.share for one in found])), 3),
                "best": round(best(right), 3),
            }
            rows.append(row)
            print(row, flush=True)
    if options.write:
        pd.DataFrame(rows).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
