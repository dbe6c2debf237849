"""Whole numbers on the embedded model: how fast, how to read those split into digits, how near a larger model.

    python -m benchmarks.integers [speed] [split] [reference] [--texts 12] [--rounds 3]

speed      calls and judgments per second of `readout=integers` against `readout=logprobs` and `readout=probe`, on the
           same texts (of the rubric that is the default) with the same examples, in turn, round by round, cache off.
split      what is lost where beginnings of numbers are followed only so far, or not at all: the error of the expected
           score against the one from whole numbers, for odds of several shapes; no model is asked.
reference  Spearman's correlation of the embedded model's scores with a hosted model's on `trait/items.jsonl` of the
           reference data, with its interval; skipped where these are not there.
Prints, judges nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from undogmatic.config.door import compose_config
from undogmatic.constructs.shame.curated import CuratedDataset
from undogmatic.engine.journal import Journals
from undogmatic.engine.local import LocalEngine
from undogmatic.engine.recipe import Parts, Recipe
from undogmatic.records.records import Item, Judgment
from undogmatic.stats import limits
from undogmatic.stats.uncertainty import completed, expected_score

REFERENCE = Path(__file__).parents[2] / "shared" / "data" / "trait" / "items.jsonl"


class Pass(NamedTuple):
    """One pass over the texts: judgments and calls per second, and the judgments."""

    judgments: float
    calls: float
    judged: list[Judgment]


def judge(parts: Parts, items: list[Item]) -> Pass:
    """All items through everything but the cache."""
    with tempfile.TemporaryDirectory() as folder:
        clock = time.perf_counter()
        _, judged = asyncio.run(
            LocalEngine(cache=False).arun(
                Recipe({}, parts), items, Journals(Path(folder))
            )
        )
        seconds = time.perf_counter() - clock
    found = list(judged)
    return Pass(
        len(items) / seconds, sum(each.cost.calls for each in found) / seconds, found
    )


def speed(count: int, rounds: int) -> None:
    """The median of the paired ratios, of calls and of judgments."""
    items = CuratedDataset(parts=["labelled"], split="development").load()
    items = items[:: max(1, len(items) // count)][:count]
    own = Recipe(
        compose_config(
            ["readout=integers", "readout.minimum_mass=0", "prompt=demos_pt"]
        )
    ).build()
    others = {
        "logprobs (the same examples)": [
            "readout=logprobs",
            "readout.minimum_mass=0",
            "prompt=demos_pt",
        ],
        "probe (no examples)": ["readout=probe"],
    }
    for name, overrides in others.items():
        other = Recipe(compose_config(overrides)).build()
        judge(own, items[:2]), judge(other, items[:2])
        pairs = [(judge(own, items), judge(other, items)) for _ in range(rounds)]
        calls = [mine.calls / theirs.calls for mine, theirs in pairs]
        judgments = [mine.judgments / theirs.judgments for mine, theirs in pairs]
        print(
            f"integers against {name}: calls per second"
            f" {statistics.median(m.calls for m, _ in pairs):.2f} to"
            f" {statistics.median(t.calls for _, t in pairs):.2f}, ratio"
            f" {statistics.median(calls):.2f} (rounds:"
            f" {', '.join(f'{each:.2f}' for each in calls)}); judgments per second, ratio"
            f" {statistics.median(judgments):.2f}",
            flush=True,
        )


def shapes(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Odds over 0-100 as models have them, shape (n, 101): one peak, two, nearly flat, multiples of
    five."""
    grid = np.arange(101)
    middle, other = rng.uniform(0, 100, (2, n, 1))
    width = rng.uniform(2, 10, (n, 1))
    peak, second = (
        np.exp(-(((grid - middle) / width) ** 2)),
        np.exp(-(((grid - other) / width) ** 2)),
    )
    fives = np.where(grid % 5 == 0, np.exp(-(((grid - middle) / 15) ** 2)), 0.0)
    found = {
        "one peak": peak,
        "two peaks": peak + second,
        "flat": rng.uniform(0.2, 1, (n, 101)),
        "multiples of 5": fives,
    }
    return {
        name: odds / odds.sum(axis=1, keepdims=True) for name, odds in found.items()
    }


def followed(odds: np.ndarray, most: int) -> float | None:
    """The expected score of one row of odds where a token is a digit and `most` beginnings are
    followed."""
    first: dict[str, float] = {}
    joint: dict[str, dict[str, float]] = {}
    for number, mass in enumerate(odds):
        digits = str(number)
        first[digits[0]] = first.get(digits[0], 0.0) + mass
        for n in range(1, len(digits) + 1):
            own = joint.setdefault(digits[:n], {})
            after = digits[n] if n < len(digits) else "\n"
            own[after] = own.get(after, 0.0) + mass
    after: dict[str, dict[str, float]] = {}
    for _ in range(most):
        begun = completed(first, after, 100, 1).begun
        if not begun:
            break
        digits = max(begun, key=lambda each: begun[each])
        total = sum(joint[digits].values())
        after[digits] = {token: mass / total for token, mass in joint[digits].items()}
    return expected_score(completed(first, after, 100, 1).numbers, 0, 100, 0.25)


def split(n: int = 200) -> None:
    """Mean absolute error per shape: by beginnings followed, by the tens of the first digit, by
    five levels."""
    for name, rows in shapes(np.random.default_rng(0), n).items():
        truth = rows @ np.arange(101)
        said = []
        for most in (1, 3, 5, 10):
            found = [followed(row, most) for row in rows]
            errors = [
                abs(each - true)
                for each, true in zip(found, truth, strict=True)
                if each is not None
            ]
            failed = sum(each is None for each in found)
            error = f"{np.mean(errors):.2f}" if errors else "-"
            said.append(
                f"{most} followed {error}"
                + (f" ({failed / n:.0%} failed)" if failed else "")
            )
        tens = np.array(
            [min(95.0, 10.0 * int(str(number)[0]) + 4.5) for number in range(101)]
        )
        said.append(f"first digit as tens {np.abs(rows @ tens - truth).mean():.2f}")
        levels = np.array([0.0, 25.0, 50.0, 75.0, 100.0])
        nearest = levels[np.abs(np.arange(101)[:, None] - levels).argmin(axis=1)]
        said.append(f"five levels {np.abs(rows @ nearest - truth).mean():.2f}")
        print(f"{name}: mean absolute error, {', '.join(said)}", flush=True)


def reference() -> None:
    """The embedded model against the hosted one, for the trait and for coherence."""
    if not REFERENCE.is_file():
        print(f"no reference data: {REFERENCE} not found")
        return
    rows = [
        json.loads(line) for line in REFERENCE.read_text(encoding="utf-8").splitlines()
    ]
    items = [
        Item(
            id=row["id"],
            inputs={"question": row["prompt"], "response": row["response"]},
        )
        for row in rows
    ]
    for experiment, key in (("trait", "judge_trait"), ("coherence", "judge_coherence")):
        judged = judge(
            Recipe(compose_config([f"experiment={experiment}"])).build(), items
        ).judged
        scores = {each.item_id: each.score for each in judged}
        both = [
            (scores[row["id"]], row[key], row["prompt"])
            for row in rows
            if scores.get(row["id"]) is not None
        ]
        score, hosted, prompts = zip(*both, strict=True)
        found = limits.order(score, hosted, np.random.default_rng(0), groups=prompts)
        said = (
            "no rank correlation"
            if found is None
            else f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
        )
        print(
            f"{experiment}: Spearman with the hosted model {said}, {len(both)} of {len(rows)}"
            f" responses judged, {len(set(prompts))} prompts; scores {min(score):.0f} to"
            f" {max(score):.0f}",
            flush=True,
        )


def main() -> None:
    """Run the parts that were named, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=["speed", "split", "reference"])
    parser.add_argument("--texts", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    parts = given.parts or ["speed", "split", "reference"]
    if "split" in parts:
        split()
    if "speed" in parts:
        speed(given.texts, given.rounds)
    if "reference" in parts:
        reference()


if __name__ == "__main__":
    main()
