"""What does `undogmatic check` say of real LLM judges, of real people in a judge's place, and of
programs that do not read, as labels become more?

    python -m benchmarks.acid --write                 # all that ../shared/data/real holds
    python -m benchmarks.acid --page                  # docs/acid_tests.md from the stored results
    python -m benchmarks.acid --sets cebab_stars --items 100 250 --draws 5

Each draw takes items at random (all of a document together, where a document has several), and
shows the check one judge and the labels. A person in the judge's place is held against all others.
Tables are not copied into the project; without them nothing is measured. Results are in
results/acid.csv, the page that quotes them is docs/acid_tests.md.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data" / "real"
RESULTS = ROOT / "benchmarks" / "results" / "acid.csv"
PAGE = ROOT / "docs" / "acid_tests.md"
BEGIN, END = "<!-- made by benchmarks.acid --page -->\n", "<!-- end -->\n"
ITEMS = (60, 100, 250, 400, 0)
"""So many items are drawn; 0: all."""
KEYS = ["set", "judge", "items"]
PLEASANT = (
    "amazing awesome best brilliant charming cozy delicious delightful enjoyed excellent exceptional"
    " fantastic favorite fresh friendly good great happy incredible love loved nice outstanding"
    " perfect pleasant recommend tasty wonderful"
).split()
UNPLEASANT = (
    "awful bad bland cold disappointed dirty horrible loud mediocre never noisy not overpriced poor"
    " rude slow terrible unfriendly worst"
).split()


def lexicon(texts: Sequence[str]) -> list[int]:
    """Stars by how many pleasant and unpleasant words a text has: a program that does not read."""
    stars = []
    for text in texts:
        words = re.findall(r"[a-z]+", text.lower())
        sum_of = sum(word in PLEASANT for word in words) - sum(
            word in UNPLEASANT for word in words
        )
        stars.append(int(np.clip(3 + sum_of, 1, 5)))
    return stars


@dataclass(frozen=True)
class RealSet:
    """A table of judges and people.

    Attributes:
        file: In the folder of real data.
        judges: Columns of judges to ask about.
        people: Columns of people.
        options: Of the check.
        programs: Judges that do not read, by name, made from the texts.
        part: Looks at one criterion (column and value) only.
        in_place: Whether each of the people is tried in the judge's place.
    """

    file: str
    judges: Sequence[str]
    people: Sequence[str]
    options: Mapping[str, Any]
    programs: Mapping[str, Callable[[Sequence[str]], list[int]]] = field(
        default_factory=dict
    )
    part: tuple[str, str] | None = None
    in_place: bool = False

    def frame(self) -> pd.DataFrame:
        """The rows, with a column for each program."""
        rows = pd.read_csv(DATA / self.file)
        if self.part is not None:
            rows = rows[rows[self.part[0]] == self.part[1]]
        text = self.options.get("text")
        for name, program in self.programs.items():
            rows = rows.assign(**{name: program([str(one) for one in rows[text]])})
        return rows.reset_index(drop=True)


LLMS = (
    "gpt-4o",
    "gemini_pro",
    "gemini_flash",
    "llama-31",
    "gpt-4o-mini",
    "mistral-v03",
)
TEN = tuple(f"human_{n}" for n in range(1, 11))
STARS = {"kind": "ordered", "scale": "1<2<3<4<5", "item": "item_id", "text": "review"}
ASPECTS = {
    "kind": "unordered",
    "item": "item_id",
    "text": "review",
    "group": "document",
}
SETS: dict[str, RealSet] = {
    "cebab_stars": RealSet(
        "cebab_stars.csv", LLMS, TEN, STARS, {"lexicon": lexicon}, in_place=True
    ),
    **{
        f"cebab_{aspect}": RealSet(
            "cebab_aspects.csv", LLMS[:2], TEN, ASPECTS, part=("criterion", aspect)
        )
        for aspect in ("ambiance", "food", "noise", "service")
    },
    "wax": RealSet(
        "wax.csv",
        LLMS,
        TEN[:8],
        {"kind": "unordered", "item": "item_id", "text": "explanation"},
        in_place=True,
    ),
    "lesion": RealSet(
        "lesion.csv",
        ("gemini_pro", "gpt-4o"),
        TEN[:6],
        {
            "kind": "ordered",
            "scale": "0<1<2<3<4<5<6",
            "item": "item_id",
            "group": "document",
        },
    ),
    "umass_v1": RealSet(
        "umass_v1.csv",
        ("GPT-4", "Llama3-70B", "Contains", "EM", "Gemma-2B"),
        ("HumanJudgement",),
        {
            "kind": "pass_fail",
            "group": "question",
            "text": "response",
            "system": "model",
        },
    ),
    "babe_test": RealSet(
        "babe_test.csv",
        ("zephyr_label", "openchat_label", "llama_13b_label", "majority", "babe"),
        ("label",),
        {"kind": "pass_fail", "passes": "1", "text": "text"},
    ),
}


def one(name: str, judge: str, items: int, seed: int) -> tuple[str, str, str, float]:
    """What the check says of one draw: its answer, the rule that gave it, the error it ended with,
    and the seconds of a processor."""
    from undogmatic import check
    from undogmatic.errors import UndogmaticError

    own = SETS[name]
    rows = _frame(name)
    people = [person for person in own.people if person != judge]
    rows = rows[rows[judge].notna() & rows[people].notna().any(axis=1)]
    group = own.options.get("group")
    if items:
        rng = np.random.default_rng([seed, items])
        codes = pd.factorize(rows[group])[0] if group else np.arange(len(rows))
        order = rng.permutation(int(codes.max()) + 1)
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        rows = rows.iloc[np.argsort(place[codes], kind="stable")[:items]].sort_index()
    kept = [
        column
        for column in rows
        if column in (judge, *people) or column not in _voices(name)
    ]
    # Of few items somebody may have labelled none.
    rows = rows[kept].dropna(axis=1, how="all")
    people = [person for person in people if person in rows]
    start = time.process_time()
    try:
        answer = check(rows, judge=[judge], human=people, **own.options).judges[0]
    except UndogmaticError as error:
        return "error", str(error)[:80], "", time.process_time() - start
    took = time.process_time() - start
    rival = answer.rival.key.removeprefix("surface.")
    return (
        answer.standing,
        answer.verdict.key.removeprefix("check.verdict_"),
        rival,
        took,
    )


@functools.lru_cache
def _frame(name: str) -> pd.DataFrame:
    return SETS[name].frame()


def _voices(name: str) -> set[str]:
    own = SETS[name]
    others = {"majority", "synth", "magpie", "babe"} if name == "babe_test" else set()
    if name == "umass_v1":
        others = {
            "Mistral-7B",
            "Llama-7B",
            "Llama-13B",
            "Llama3-8B",
            "Llama-70B",
            "JudgeLM",
        }
    return {*own.judges, *own.people, *own.programs, *others} | set(LLMS)


def measured(
    sets: Sequence[str], judges: Sequence[str], items: Sequence[int], draws: int
) -> Iterator[dict[str, object]]:
    """A row for each judge and number of items."""
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        for name in sets:
            own = SETS[name]
            asked = [*own.judges, *own.programs, *(own.people if own.in_place else ())]
            for judge in asked:
                if judges and judge not in judges:
                    continue
                for n in items:
                    if n >= len(_frame(name)):
                        continue
                    seeds = range(draws if n else 1)
                    ask = functools.partial(one, name, judge, n)
                    standings, rules, rivals, seconds = zip(
                        *workers.map(ask, seeds), strict=True
                    )
                    yield {
                        "set": name,
                        "judge": judge,
                        "items": n,
                        "draws": len(seeds),
                        "yes": round(standings.count("supported") / len(seeds), 3),
                        "no": round(standings.count("refuted") / len(seeds), 3),
                        "first line": _counted(rules),
                        "rival": _counted(rivals),
                        "seconds": round(float(np.median(seconds)), 2),
                    }


def _counted(names: Sequence[str]) -> str:
    return " ".join(f"{name}:{n}" for name, n in Counter(names).most_common())


def tables() -> str:
    """For each set a table: how often each judge is believed, by items, and the first line on
    all."""
    found = pd.read_csv(RESULTS)
    parts = []
    for name, rows in found.groupby("set", sort=False):
        sizes = sorted(rows["items"].unique(), key=lambda n: n or np.inf)
        head = [f"{n} items" if n else "all" for n in sizes]
        lines = [
            f"## {name}\n",
            f"| judge | {' | '.join(head)} | first line on all, or on the most |",
            f"|{'---|' * (len(head) + 2)}",
        ]
        for judge, own in rows.groupby("judge", sort=False):
            by_size = own.set_index("items")
            yes = [
                f"{by_size['yes'][n]:.0%}" if n in by_size.index else "-" for n in sizes
            ]
            last = by_size["first line"][
                0 if 0 in by_size.index else max(by_size.index)
            ]
            lines.append(f"| {judge} | {' | '.join(yes)} | {last} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def write_page() -> None:
    """Put the tables between the marks of the page."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    PAGE.write_text(
        f"{before}{BEGIN}{tables()}{END}{rest.partition(END)[2]}", encoding="utf-8"
    )


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", choices=[*SETS], default=[*SETS])
    parser.add_argument("--judges", nargs="+", default=[])
    parser.add_argument("--items", nargs="+", type=int, default=list(ITEMS))
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument(
        "--write", action="store_true", help="keep the rows in benchmarks/results"
    )
    parser.add_argument(
        "--page", action="store_true", help=f"make {PAGE.name} of the results"
    )
    given = parser.parse_args()
    if given.page:
        write_page()
        return
    if not DATA.exists():
        print(f"{DATA.name} is not there; nothing was measured.")
        return
    for row in measured(given.sets, given.judges, given.items, given.draws):
        print(*(f"{name}={value}" for name, value in row.items()), flush=True)
        if given.write:
            before = [pd.read_csv(RESULTS)] if RESULTS.exists() else []
            rows = pd.concat([*before, pd.DataFrame([row])]).drop_duplicates(
                KEYS, keep="last"
            )
            rows.sort_values(KEYS).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
