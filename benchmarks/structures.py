"""How often does `undogmatic check` believe a judge that goes by what stands beside the texts, and
how often not a good one in the same file?

    python -m benchmarks.structures --seeds 40 --write
    python -m benchmarks.structures --seeds 10 --judges id_letter good --items 100

Each file has invented texts, ids, dates, a number, categories of few and of many values, a
reference answer and forty further columns. A judge without merit gives its verdict by one of them;
the labels of one person, or of two, are its verdicts, one in ten turned round. A good judge and the
people each mistake the meaning of one text in twenty. Results are in results/structures.csv.
"""

from __future__ import annotations

import argparse
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.check import WRONG, turned, world

Array = np.ndarray
RESULTS = Path(__file__).parent / "results" / "structures.csv"
ITEMS = (100, 300)
KEYS = ["judge", "items", "raters"]
GOOD = "good"


def columns(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """A file without verdicts: texts, and what stands beside them."""
    made = world(n, rng, 0.0, "aspects" if n <= 400 else 0)
    letters = np.array([*"abcdefghijklmnopqrstuvwxyz"])
    ids = [
        "".join(rng.choice(letters, 4)) + f"-{rng.integers(1000, 9999)}-{k}"
        for k in range(n)
    ]
    answers = [
        " ".join(rng.permutation(text.split())[: rng.integers(2, 30)])
        for text in made.texts
    ]
    frame = pd.DataFrame(
        {
            "id": ids,
            "text": made.texts,
            "meaning": made.meaning,
            "created": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 2 * 365 * 24 * 3600, n), unit="s"),
            "tokens": rng.integers(20, 5000, n),
            "amount": rng.normal(size=n).round(3),
            "question": [f"question {k}" for k in rng.integers(0, n, n)],
            "office": [f"office {k}" for k in rng.integers(0, max(5, n // 6), n)],
            "topic": rng.choice(["tax", "labour", "family", "crime", "land"], n),
            "model": rng.choice([f"model-{k}" for k in range(6)], n),
            "reference": answers,
            "rater": rng.choice(["ana", "ben", "eva", "rui"], n),
        }
    )
    frame["created"] = frame["created"].astype(str)
    for k in range(40):
        frame[f"x{k}"] = rng.integers(0, 6, n)
    return frame


def _half(values: Sequence[float] | Array) -> Array:
    own = np.asarray(values, dtype=np.float64)
    return (own > np.median(own)).astype(int)


def _hashed(values: pd.Series) -> Array:
    return np.array([zlib.crc32(f"{value}!".encode()) % 2 for value in values])


def _when(frame: pd.DataFrame, part: str) -> pd.Series:
    return pd.Series(getattr(pd.to_datetime(frame["created"]).dt, part))


def _shared(frame: pd.DataFrame) -> Array:
    pairs = zip(frame["text"], frame["reference"], strict=True)
    return np.array(
        [len({*a.split()} & {*b.split()}) / max(1, len({*a.split()})) for a, b in pairs]
    )


STRUCTURES: dict[str, Callable[[pd.DataFrame], Array]] = {
    "id_letter": lambda f: (f["id"].str[0] < "m").to_numpy(dtype=int),
    "id_holds_letter": lambda f: f["id"].str.contains("e").to_numpy(dtype=int),
    "id_last_digit": lambda f: f["id"].str[-1].astype(int).to_numpy() % 2,
    "id_number_of_three": lambda f: (np.arange(len(f)) % 3 == 0).astype(int),
    "order_late": lambda f: _half(np.arange(len(f))),
    "order_every_other": lambda f: np.arange(len(f)) % 2,
    "date_late": lambda f: _half(pd.to_datetime(f["created"]).astype("int64")),
    "date_month": lambda f: (_when(f, "month") % 2).to_numpy(),
    "date_weekday": lambda f: (_when(f, "day_of_week") >= 3).to_numpy(dtype=int),
    "date_hour": lambda f: (_when(f, "hour") < 12).to_numpy(dtype=int),
    "number_large": lambda f: _half(f["tokens"]),
    "number_even": lambda f: f["tokens"].to_numpy() % 2,
    "number_band": lambda f: (f["amount"].abs() < 0.7).to_numpy(dtype=int),
    "category_of_five": lambda f: f["topic"].isin(["tax", "crime"]).to_numpy(dtype=int),
    "category_of_many": lambda f: _hashed(f["office"]),
    "question": lambda f: _hashed(f["question"]),
    "maker": lambda f: (
        f["model"].isin(["model-0", "model-3", "model-5"]).to_numpy(dtype=int)
    ),
    "overlap_with_reference": lambda f: _half(_shared(f)),
    "length_of_reference": lambda f: _half(f["reference"].str.len()),
    "first_letter_of_reference": lambda f: (
        f["reference"].str[0].str.lower() < "m"
    ).to_numpy(dtype=int),
    "rater": lambda f: f["rater"].isin(["ana", "eva"]).to_numpy(dtype=int),
    "column_36": lambda f: (f["x35"] % 2).to_numpy(),
    "two_columns": lambda f: _half(f["x3"] + f["x7"] + 0.01 * f["x9"]),
    "two_columns_crossed": lambda f: ((f["x3"] % 2) ^ (f["x7"] % 2)).to_numpy(),
}


def one(case: tuple[str, int, int], seed: int) -> tuple[bool, str, str]:
    """Whether the answer believes the judge of one file, its first line's name, and the rival's."""
    from undogmatic import check

    name, n, raters = case
    rng = np.random.default_rng([seed, n, sum(map(ord, name))])
    frame = columns(n, rng)
    if name == GOOD:
        verdict = turned(frame["meaning"].to_numpy(), 0.05, rng)
        labels = [turned(frame["meaning"].to_numpy(), 0.05, rng) for _ in range(raters)]
    else:
        verdict = STRUCTURES[name](frame)
        labels = [turned(verdict, WRONG, rng) for _ in range(raters)]
    frame = frame.drop(columns="meaning").assign(verdict=verdict)
    if raters == 1:
        frame["label"] = labels[0]
        people = {"human": "label"}
    else:
        frame = frame.drop(columns="rater")
        for k, own in enumerate(labels):
            frame[f"label_{k}"] = own
        people = {"human": [f"label_{k}" for k in range(raters)]}
    options = {
        "judge": "verdict",
        "text": "text",
        "item": "id",
        "kind": "pass_fail",
        **people,
    }
    (answer,) = check(frame, passes="1", system="model", **options).judges
    key = answer.verdict.key.removeprefix("check.verdict_")
    return (
        answer.standing == "supported",
        key,
        answer.rival.key.removeprefix("surface."),
    )


def measured(
    seeds: int, judges: Sequence[str], items: Sequence[int], raters: Sequence[int]
) -> Iterator[dict[str, object]]:
    """A row per judge, number of items and of raters."""
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        for name in judges:
            for n in items:
                for people in raters:
                    if name == "rater" and people > 1:
                        continue
                    found = [
                        *workers.map(partial(one, (name, n, people)), range(seeds))
                    ]
                    believed, rules, rivals = zip(*found, strict=True)
                    yield {
                        "judge": name,
                        "items": n,
                        "raters": people,
                        "seeds": seeds,
                        "believed": round(float(np.mean(believed)), 3),
                        "first line": _counted(rules),
                        "rival": _counted(rivals),
                    }


def _counted(names: Sequence[str]) -> str:
    return " ".join(f"{name}:{n}" for name, n in Counter(names).most_common())


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--judges", nargs="+", default=[GOOD, *STRUCTURES])
    parser.add_argument("--items", nargs="+", type=int, default=list(ITEMS))
    parser.add_argument("--raters", nargs="+", type=int, default=[1, 2])
    parser.add_argument(
        "--write", action="store_true", help="keep the rows in benchmarks/results"
    )
    given = parser.parse_args()
    for row in measured(given.seeds, given.judges, given.items, given.raters):
        print(*(f"{name}={value}" for name, value in row.items()), flush=True)
        if given.write:
            before = [pd.read_csv(RESULTS)] if RESULTS.exists() else []
            rows = pd.concat([*before, pd.DataFrame([row])]).drop_duplicates(
                KEYS, keep="last"
            )
            rows.sort_values(KEYS).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
